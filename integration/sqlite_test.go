package integration

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	icebergsql "github.com/apache/iceberg-go/catalog/sql"
	_ "modernc.org/sqlite"
)

// sqliteCatalog is a new catalog in a SQLite database, with a warehouse beside it.
func sqliteCatalog(directory, name string) pyCatalog {
	return pyCatalog{
		"name": name, "type": "sql", "uri": "sqlite:///" + filepath.Join(directory, "catalog.db"),
		"warehouse": "file://" + filepath.Join(directory, "warehouse"),
	}
}

func TestSQLiteFigures(t *testing.T) {
	directory := scratch(t)
	lake := sqliteCatalog(directory, "lake")
	lake.write(t, "sales.orders", 3, arguments{"partitioned": true})
	lake.do(t, "tag", "sales.orders", arguments{"tag": "before"})
	lake.do(t, "delete", "sales.orders", arguments{"where": "id > 7"})
	lake.do(t, "overwrite", "sales.orders", arguments{"rows": 4})
	lake.write(t, "sales.old", 2, arguments{"properties": map[string]string{"format-version": "1"}})
	lake.write(t, "sales.gzipped", 1, arguments{"properties": map[string]string{"write.metadata.compression-codec": "gzip"}})
	lake.write(t, "sales.eu.returns", 1, nil)
	lake.write(t, "sales.empty", 0, nil)
	x := start(t, "catalogs: [{name: lake, type: sql, uri: '"+lake["uri"]+"'}]")
	m := x.scrape()
	for namespace, names := range map[string][]string{"sales": {"orders", "old", "gzipped", "empty"}, "sales.eu": {"returns"}} {
		for _, name := range names {
			m.equals(t, "lake", namespace, name, lake.figures(t, namespace+"."+name))
		}
	}
	if n := m[`iceberg_catalog_tables{catalog="lake"}`]; n != 5 {
		t.Errorf("the catalog has %v tables, want 5", n)
	}
}

// Tables that iceberg-go's own catalog wrote, with deletes, which PyIceberg reads
// and does not write.
func TestSQLiteByIcebergGo(t *testing.T) {
	directory := scratch(t)
	database := filepath.Join(directory, "catalog.db")
	db, err := sql.Open("sqlite", database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	written := writeWithIcebergGo(t, db, icebergsql.SQLite, "file://"+filepath.Join(directory, "warehouse"))
	x := start(t, "catalogs: [{name: lake, type: sql, uri: 'sqlite:///"+database+"'}]")
	want := figuresOf(t, written)
	if want[`iceberg_table_delete_files{content="position_deletes"}`] == 0 {
		t.Error("there are no position deletes to test with")
	}
	x.scrape().equals(t, "lake", "streams", "clicks", want)
}

func TestSQLiteDiscovery(t *testing.T) {
	directory := scratch(t)
	lake := sqliteCatalog(directory, "lake")
	lake.write(t, "sales.orders", 1, nil)
	lake.write(t, "sales.tmp_1", 1, nil)
	lake.write(t, "hr.people", 1, nil)
	x := start(t, `
catalogs:
  - name: lake
    type: sql
    uri: `+lake["uri"]+`
    discovery_interval: 1s
    exclude: ["*.tmp_*"]
    tables:
      - name: sales.*
      - name: hr.nobody
`)
	m := x.scrape()
	for table, want := range map[string]float64{"sales.orders": 1, "sales.tmp_1": -1, "hr.people": -1, "hr.nobody": 0} {
		namespace, name, _ := strings.Cut(table, ".")
		if up := m.up("lake", namespace, name); up != want {
			t.Errorf("iceberg_table_up of %s is %v, want %v", table, up, want)
		}
	}
	if m.catalogUp("lake") != 1 {
		t.Error("a catalog that has no such table did answer")
	}

	lake.write(t, "sales.returns", 1, nil)
	eventually(t, 20*time.Second, func() error {
		if up := x.scrape().up("lake", "sales", "returns"); up != 1 {
			return fmt.Errorf("iceberg_table_up of a new table is %v", up)
		}
		return nil
	})
	lake.do(t, "drop", "sales.orders", nil)
	eventually(t, 20*time.Second, func() error {
		if left := x.scrape().table("lake", "sales", "orders"); len(left) > 0 {
			return fmt.Errorf("a dropped table still has %d series", len(left))
		}
		return nil
	})
	if !strings.Contains(x.get("/targets", 200), `"lake.sales.returns"`) {
		t.Error("/targets lacks a table")
	}
}

func TestTwoCatalogsWithOneTableName(t *testing.T) {
	var catalogs []pyCatalog
	configuration := "catalogs:\n"
	for i, name := range []string{"first", "second"} {
		c := sqliteCatalog(scratch(t), name)
		c.write(t, "sales.orders", i+1, nil)
		catalogs = append(catalogs, c)
		configuration += "  - {name: " + name + ", type: sql, uri: '" + c["uri"] + "'}\n"
	}
	m := start(t, configuration).scrape()
	for _, c := range catalogs {
		m.equals(t, c["name"], "sales", "orders", c.figures(t, "sales.orders"))
	}
}

// state is what a directory holds, with the content and the time of each file.
func state(t *testing.T, directory string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(directory, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&text, path, info.Mode(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&text, "%x\n", sha256.Sum256(content))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// readOnly takes the right to write to a directory from everybody but root.
func readOnly(t *testing.T, directory string) {
	t.Helper()
	if err := filepath.WalkDir(directory, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.Chmod(path, 0o555)
		}
		return os.Chmod(path, 0o444)
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = filepath.WalkDir(directory, func(path string, _ os.DirEntry, _ error) error { return os.Chmod(path, 0o755) })
	})
}

// The exporter reads what it may not write, and leaves no trace.
func TestSQLiteIsReadOnly(t *testing.T) {
	for name, journal := range map[string]struct {
		mode, query string
		// open is whether a writer has the database open.
		open bool
		// fails is what the log says where it cannot work.
		fails string
	}{
		"rollback journal":             {mode: "delete"},
		"write-ahead log, a writer":    {mode: "wal", open: true},
		"write-ahead log, immutable":   {mode: "wal", query: "?immutable=1"},
		"write-ahead log, not told so": {mode: "wal", fails: "?immutable=1"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := scratch(t)
			lake := sqliteCatalog(directory, "lake")
			lake.write(t, "sales.orders", 2, nil)
			want := lake.figures(t, "sales.orders")
			writer := setJournal(t, filepath.Join(directory, "catalog.db"), journal.mode)
			if !journal.open {
				if err := writer.Close(); err != nil {
					t.Fatal(err)
				}
			}
			readOnly(t, directory)
			before := state(t, directory)
			x := startAs(t, "catalogs: [{name: lake, type: sql, uri: '"+lake["uri"]+journal.query+"'}]", unprivileged)
			for range 3 {
				m := x.scrape()
				if journal.fails == "" {
					m.equals(t, "lake", "sales", "orders", want)
				} else if m.catalogUp("lake") != 0 {
					t.Error("iceberg_catalog_up is not 0")
				}
			}
			if !strings.Contains(x.log.String(), journal.fails) {
				t.Errorf("the log does not tell of %s", journal.fails)
			}
			if after := state(t, directory); after != before {
				t.Errorf("the exporter changed something:\n%s\nbefore it was\n%s", after, before)
			}
		})
	}
}

// setJournal sets how a database keeps its journal, as its owner may have done,
// and returns the database open.
func setJournal(t *testing.T, database, mode string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(context.Background(), "PRAGMA journal_mode="+mode); err != nil {
		t.Fatal(err)
	}
	// A write, so that a log there is has content.
	if _, err := db.ExecContext(context.Background(), "UPDATE iceberg_tables SET table_name = table_name"); err != nil {
		t.Fatal(err)
	}
	return db
}

// Also where it could write, nothing changes: not even a file beside the database.
func TestSQLiteIsNotWritten(t *testing.T) {
	directory := scratch(t)
	lake := sqliteCatalog(directory, "lake")
	lake.write(t, "sales.orders", 2, nil)
	before := state(t, directory)
	x := start(t, "catalogs: [{name: lake, type: sql, uri: '"+lake["uri"]+"', discovery_interval: 1s}]")
	for range 3 {
		if up := x.scrape().up("lake", "sales", "orders"); up != 1 {
			t.Errorf("iceberg_table_up is %v", up)
		}
	}
	if after := state(t, directory); after != before {
		t.Errorf("the exporter changed something:\n%s\nbefore it was\n%s", after, before)
	}
}

// A database that is not there is not created, and is found when it comes.
func TestSQLiteComesLater(t *testing.T) {
	directory := scratch(t)
	lake := sqliteCatalog(directory, "default")
	x := start(t, "catalogs: [{name: lake, type: sql, uri: '"+lake["uri"]+"', discovery_interval: 1s}]")
	if up := x.scrape().catalogUp("lake"); up != 0 {
		t.Errorf("iceberg_catalog_up without a database is %v", up)
	}
	if _, err := os.Stat(filepath.Join(directory, "catalog.db")); err == nil {
		t.Fatal("the exporter created the database")
	}
	// First without tables: then nothing tells yet that the catalog goes by another name.
	lake.do(t, "namespace", "", arguments{"namespace": "sales"})
	eventually(t, 20*time.Second, func() error {
		if up := x.scrape().catalogUp("lake"); up != 1 {
			return fmt.Errorf("iceberg_catalog_up is %v", up)
		}
		return nil
	})
	lake.write(t, "sales.orders", 1, nil)
	eventually(t, 20*time.Second, func() error {
		if up := x.scrape().up("lake", "sales", "orders"); up != 1 {
			return fmt.Errorf("iceberg_table_up is %v", up)
		}
		return nil
	})
}

func TestSQLiteCatalogName(t *testing.T) {
	directory := scratch(t)
	one, two := sqliteCatalog(directory, "one"), sqliteCatalog(directory, "two")
	one.write(t, "sales.orders", 1, nil)
	two.write(t, "sales.orders", 2, nil)
	configuration := `
catalogs:
  - name: neither
    type: sql
    uri: ` + one["uri"] + `
  - name: named
    type: sql
    uri: ` + one["uri"] + `
    properties: {sql.catalog_name: two}
  - name: misnamed
    type: sql
    uri: ` + one["uri"] + `
    properties: {sql.catalog_name: three}
    tables: [{name: sales.orders}]
  - name: one
    type: sql
    uri: ` + one["uri"] + `
`
	x := start(t, configuration)
	m := x.scrape()
	m.equals(t, "named", "sales", "orders", two.figures(t, "sales.orders"))
	m.equals(t, "one", "sales", "orders", one.figures(t, "sales.orders"))
	if up := m.catalogUp("neither"); up != 0 {
		t.Errorf("iceberg_catalog_up is %v where the name is not told, want 0", up)
	}
	if up := m.up("misnamed", "sales", "orders"); up != 0 {
		t.Errorf("iceberg_table_up in a catalog that does not exist is %v, want 0", up)
	}
	for _, told := range []string{`\"one\"`, `\"two\"`, "sql.catalog_name"} {
		if !strings.Contains(x.log.String(), told) {
			t.Errorf("the log does not help: it lacks %s", told)
		}
	}
}

// A writer locks the database for a moment: the exporter waits for it.
func TestSQLiteIsLocked(t *testing.T) {
	directory := scratch(t)
	lake := sqliteCatalog(directory, "lake")
	lake.write(t, "sales.orders", 1, nil)
	db, err := sql.Open("sqlite", filepath.Join(directory, "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	x := start(t, "catalogs: [{name: lake, type: sql, uri: '"+lake["uri"]+"'}]")
	if _, err := db.ExecContext(context.Background(), "BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	released := time.AfterFunc(time.Second, func() {
		if _, err := db.ExecContext(context.Background(), "COMMIT"); err != nil {
			t.Error(err)
		}
	})
	defer released.Stop()
	if up := x.scrape().up("lake", "sales", "orders"); up != 1 {
		t.Errorf("iceberg_table_up is %v", up)
	}
}
