package integration

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	icebergsql "github.com/apache/iceberg-go/catalog/sql"
	_ "github.com/jackc/pgx/v5/stdlib"
)

// startPostgres runs a PostgreSQL server whose user iceberg has a password, and
// returns its address.
func startPostgres(t *testing.T, password secret) string {
	t.Helper()
	initdb, postgres := postgresProgram(t, "initdb"), postgresProgram(t, "postgres")
	directory := scratch(t)
	passwordFile := filepath.Join(directory, "password")
	if err := os.WriteFile(passwordFile, []byte(password), 0o644); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(directory, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(data, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	create := exec.Command(initdb, "-D", data, "-U", "iceberg", "--auth=scram-sha-256", "--pwfile="+passwordFile, "--no-sync", "--locale=C")
	create.Dir = directory
	unprivileged(create)
	if text, err := create.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, text)
	}
	address, port := freeAddress(t)
	server := exec.Command(postgres, "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off")
	server.Dir = directory
	unprivileged(server)
	serve(t, address, server)
	return address
}

func TestPostgres(t *testing.T) {
	const password secret = "planted/pg:pa%ss word"
	address := startPostgres(t, password)
	db, err := sql.Open("pgx", fmt.Sprintf("host=127.0.0.1 port=%s user=iceberg dbname=postgres password='%s'", address[len("127.0.0.1:"):], password))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	eventually(t, time.Minute, db.Ping)
	warehouse := scratch(t)
	written := writeWithIcebergGo(t, db, icebergsql.Postgres, "file://"+warehouse)
	want := figuresOf(t, written)

	file := filepath.Join(scratch(t), "password")
	const wrong secret = "planted-wrong-password"
	if err := os.WriteFile(file, []byte(wrong), 0o644); err != nil {
		t.Fatal(err)
	}
	configuration := "catalogs:\n"
	for _, scheme := range []string{"postgresql", "postgresql+psycopg2"} {
		configuration += fmt.Sprintf("  - {name: %q, type: sql, uri: '%s://iceberg@%s/postgres', credential_file: %s}\n", scheme, scheme, address, file)
	}
	// A password can also stand in the URI, where others may put it.
	configuration += fmt.Sprintf("  - {name: wrong, type: sql, uri: 'postgresql://iceberg:%s@%s/postgres'}\n", wrong, address)
	x := start(t, configuration, password, wrong)
	m := x.scrape()
	for _, name := range []string{"postgresql", "postgresql+psycopg2", "wrong"} {
		if up := m.catalogUp(name); up != 0 {
			t.Errorf("iceberg_catalog_up of %s with a wrong password is %v", name, up)
		}
	}
	x.get("/config", 200)
	// The password is renewed in place, as short-lived ones are.
	if err := os.WriteFile(file, []byte(password+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m = x.scrape()
	for _, name := range []string{"postgresql", "postgresql+psycopg2"} {
		m.equals(t, name, "streams", "clicks", want)
	}

	// Unchanged, it costs a query and no file.
	before := m["iceberg_exporter_storage_read_bytes_total"]
	if after := x.scrape()["iceberg_exporter_storage_read_bytes_total"]; after != before {
		t.Errorf("an unchanged table cost %v bytes of storage", after-before)
	}
}
