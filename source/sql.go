package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	// The driver "pgx".
	_ "github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/fileio"
)

// catalogNameProperty names the catalog within its database, where that is not
// the configured name.
const catalogNameProperty = "sql.catalog_name"

// sqlCatalog is a database with the tables of the JDBC catalog, which PyIceberg
// and iceberg-go share. It only selects: iceberg-go's own catalog creates tables
// when it opens a database, and reads a table's whole metadata to tell where it is.
type sqlCatalog struct {
	db     *sql.DB
	files  *fileio.Storage
	limits Limits
	// configured is the catalog's name in the configuration.
	configured string
	// name is the catalog's name in the database, once it is known.
	name atomic.Pointer[string]
}

func openSQL(_ context.Context, env environment) (catalog, error) {
	driver, source, err := dataSource(env.config, env.secrets.Credential)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	c := &sqlCatalog{db: db, files: env.storage(), limits: env.limits, configured: env.config.Name}
	if name, ok := env.properties()[catalogNameProperty]; ok {
		c.name.Store(&name)
	}
	return c, nil
}

// sqliteBusy waits for a writer's lock, in milliseconds, rather than fail at once.
const sqliteBusy = "busy_timeout(5000)"

// dataSource translates PyIceberg's URI (SQLAlchemy's) to Go's drivers.
func dataSource(c *config.Catalog, password string) (driver, source string, err error) {
	scheme, rest, _ := strings.Cut(c.URI, ":")
	if scheme == "sqlite" {
		// sqlite:///relative and sqlite:////absolute. Never create the file.
		path, query, _ := strings.Cut(strings.TrimPrefix(rest, "///"), "?")
		values, err := url.ParseQuery(query)
		if err != nil {
			return "", "", errors.New("the query of the uri cannot be parsed")
		}
		values.Set("mode", "ro")
		if !values.Has("_pragma") {
			values.Set("_pragma", sqliteBusy) // A writer locks the database for a moment.
		}
		return "sqlite", "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + values.Encode(), nil
	}
	parsed, err := url.Parse("postgresql:" + rest)
	if err != nil {
		return "", "", errors.New("the uri cannot be parsed")
	}
	if password != "" {
		parsed.User = url.UserPassword(parsed.User.Username(), password)
	}
	return "pgx", parsed.String(), nil
}

// findName returns the catalog's name in the database. A database that holds
// one catalog needs no name; while it holds no table at all, the name is not
// known yet.
func (c *sqlCatalog) findName(ctx context.Context) (string, error) {
	if name := c.name.Load(); name != nil {
		return *name, nil
	}
	var names []string
	rows, err := c.db.QueryContext(ctx, `SELECT DISTINCT catalog_name FROM iceberg_tables`)
	if err != nil {
		return "", fmt.Errorf("looking into the catalog's database: %w", sqlError(err))
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return "", err
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		return "", err
	}
	switch {
	case len(names) == 0:
		return c.configured, nil
	case slices.Contains(names, c.configured):
		c.name.Store(&c.configured)
	case len(names) == 1:
		c.name.Store(&names[0])
	default:
		return "", fmt.Errorf("the database holds the catalogs %q and none named %q: set properties.%s", names, c.configured, catalogNameProperty)
	}
	return *c.name.Load(), nil
}

// sqlError says what to do about an error that does not.
func sqlError(err error) error {
	var failed *sqlite.Error
	if errors.As(err, &failed) && failed.Code() == sqlite3.SQLITE_READONLY_DIRECTORY {
		return fmt.Errorf("%w: its journal is a write-ahead log, for which a reader creates files beside it; let the exporter do that, or add ?immutable=1 to the uri of a database that nobody writes", err)
	}
	return err
}

func (c *sqlCatalog) list(ctx context.Context, wanted func(string) bool) ([]Identifier, error) {
	name, err := c.findName(ctx)
	if err != nil {
		return nil, err
	}
	// Views have no row with a metadata location of a table in the databases of
	// PyIceberg; those of iceberg-go say what they are in iceberg_type.
	rows, err := c.db.QueryContext(ctx, `SELECT * FROM iceberg_tables WHERE catalog_name = $1 ORDER BY table_namespace, table_name`, name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values := make([]sql.NullString, len(columns))
	targets := make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	column := func(name string) string {
		if i := slices.Index(columns, name); i >= 0 {
			return values[i].String
		}
		return ""
	}
	var tables []Identifier
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		id := Identifier{Namespace: column("table_namespace"), Name: column("table_name")}
		if column("iceberg_type") != "VIEW" && wanted(id.Namespace) {
			tables = append(tables, id)
		}
	}
	return tables, rows.Err()
}

func (c *sqlCatalog) locate(ctx context.Context, id Identifier) (*Table, error) {
	name, err := c.findName(ctx)
	if err != nil {
		return nil, err
	}
	var file sql.NullString
	err = c.db.QueryRowContext(ctx,
		`SELECT metadata_location FROM iceberg_tables WHERE catalog_name = $1 AND table_namespace = $2 AND table_name = $3`,
		name, id.Namespace, id.Name).Scan(&file)
	if errors.Is(err, sql.ErrNoRows) || err == nil && file.String == "" {
		return nil, ErrNoTable
	}
	if err != nil {
		return nil, err
	}
	return locatedAt(c.files, file.String, c.limits), nil
}

func (c *sqlCatalog) close() error { return errors.Join(c.db.Close(), c.files.Close()) }

// locatedAt is a table whose catalog keeps the path of its metadata file. Every
// commit writes a new file, so the path is the version.
func locatedAt(storage *fileio.Storage, file string, limits Limits) *Table {
	return &Table{Version: file, read: func(ctx context.Context) (*Metadata, error) {
		m, err := readFile(ctx, storage, file, limits)
		if err != nil {
			return nil, err
		}
		m.Files = fileio.ForTable(storage, file, m.Location)
		return m, nil
	}}
}
