package integration

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	icebergsql "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"
)

// writeWithIcebergGo has iceberg-go write the table streams.clicks, with
// appends and a delete that leaves a position-delete file, and returns where its
// metadata is.
func writeWithIcebergGo(t *testing.T, db *sql.DB, dialect icebergsql.SupportedDialect, warehouse string) string {
	t.Helper()
	ctx := context.Background()
	lake, err := icebergsql.NewCatalog("lake", db, dialect, iceberg.Properties{"warehouse": warehouse})
	if err != nil {
		t.Fatal(err)
	}
	name := table.Identifier{"streams", "clicks"}
	if err := lake.CreateNamespace(ctx, name[:1], nil); err != nil {
		t.Fatal(err)
	}
	schema := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64})
	clicks, err := lake.CreateTable(ctx, name, schema, catalog.WithProperties(iceberg.Properties{
		table.WriteDeleteModeKey: table.WriteModeMergeOnRead,
		"format-version":         "2",
	}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		rows := arrowRows(t, fmt.Sprintf(`[{"id": %d}, {"id": %d}, {"id": %d}]`, i, i+10, i+20))
		clicks, err = clicks.AppendTable(ctx, rows, 1024, nil)
		rows.Release()
		if err != nil {
			t.Fatal(err)
		}
	}
	clicks, err = clicks.Delete(ctx, iceberg.EqualTo(iceberg.Reference("id"), int64(11)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return clicks.MetadataLocation()
}

func arrowRows(t *testing.T, rows string) arrow.Table {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	made, err := array.TableFromJSON(memory.DefaultAllocator, schema, []string{rows})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// figuresOf are those of a table by its metadata file alone.
func figuresOf(t *testing.T, metadata string) metrics {
	t.Helper()
	pythonWithPyIceberg(t)
	var figures metrics
	if err := try(t, "figures", arguments{"metadata": metadata}, &figures); err != nil {
		t.Fatal(err)
	}
	return figures
}
