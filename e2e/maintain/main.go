// Command maintain does what the runbooks ask for with a table of a SQLite catalog: it compacts the data files, then
// expires all snapshots but the current one.
package main

import (
	"context"
	"database/sql"
	"flag"
	"log"
	"strings"

	"github.com/apache/iceberg-go"
	icebergsql "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/table/compaction"
	_ "modernc.org/sqlite"
)

func main() {
	log.SetFlags(0)
	database := flag.String("database", "", "the SQLite database of the catalog")
	catalog := flag.String("catalog", "", "the catalog's name in the database")
	name := flag.String("table", "", "namespace.table")
	flag.Parse()
	if err := maintain(context.Background(), *database, *catalog, *name); err != nil {
		log.Fatal(err)
	}
}

func maintain(ctx context.Context, database, catalog, name string) error {
	db, err := sql.Open("sqlite", database)
	if err != nil {
		return err
	}
	defer db.Close()
	lake, err := icebergsql.NewCatalog(catalog, db, icebergsql.SQLite, iceberg.Properties{})
	if err != nil {
		return err
	}
	t, err := lake.LoadTable(ctx, strings.Split(name, "."))
	if err != nil {
		return err
	}
	if t, err = compact(ctx, t); err != nil {
		return err
	}
	return expire(ctx, t)
}

// compact rewrites the small data files of each partition, with the defaults.
func compact(ctx context.Context, t *table.Table) (*table.Table, error) {
	plan, err := compaction.Analyze(ctx, t, compaction.DefaultConfig())
	if err != nil {
		return nil, err
	}
	var groups []table.CompactionTaskGroup
	for _, group := range plan.Groups {
		groups = append(groups, table.CompactionTaskGroup{
			PartitionKey: group.PartitionKey, Tasks: group.Tasks, TotalSizeBytes: group.TotalSizeBytes,
		})
	}
	transaction := t.NewTransaction()
	result, err := transaction.RewriteDataFiles(ctx, groups, table.RewriteDataFilesOptions{})
	if err != nil {
		return nil, err
	}
	log.Printf("compacted %d of %d data files in %d groups", plan.TotalInputFiles-plan.SkippedFiles, plan.TotalInputFiles, result.RewrittenGroups)
	return transaction.Commit(ctx)
}

func expire(ctx context.Context, t *table.Table) error {
	before := len(t.Metadata().Snapshots())
	transaction := t.NewTransaction()
	if err := transaction.ExpireSnapshots(table.WithOlderThan(0), table.WithRetainLast(1)); err != nil {
		return err
	}
	t, err := transaction.Commit(ctx)
	if err != nil {
		return err
	}
	log.Printf("expired %d of %d snapshots", before-len(t.Metadata().Snapshots()), before)
	return nil
}
