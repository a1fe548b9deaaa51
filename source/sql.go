package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	// The drivers "pgx" and "sqlite".
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

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
	// name is the catalog's name in the database.
	name string
}

func openSQL(ctx context.Context, env environment) (catalog, error) {
	driver, source, err := dataSource(env.config, env.secrets.Credential)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	c := &sqlCatalog{db: db, files: env.storage(), limits: env.limits}
	if c.name, err = c.findName(ctx, env); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

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
// one catalog needs no name.
func (c *sqlCatalog) findName(ctx context.Context, env environment) (string, error) {
	if name, ok := env.properties()[catalogNameProperty]; ok {
		return name, nil
	}
	var names []string
	rows, err := c.db.QueryContext(ctx, `SELECT DISTINCT catalog_name FROM iceberg_tables`)
	if err != nil {
		return "", fmt.Errorf("looking into the catalog's database: %w", err)
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
	case slices.Contains(names, env.config.Name) || len(names) == 0:
		return env.config.Name, nil
	case len(names) == 1:
		return names[0], nil
	default:
		return "", fmt.Errorf("the database holds the catalogs %q and none named %q: set properties.%s", names, env.config.Name, catalogNameProperty)
	}
}

func (c *sqlCatalog) list(ctx context.Context, wanted func(string) bool) ([]Identifier, error) {
	// Views have no row with a metadata location of a table in the databases of
	// PyIceberg; those of iceberg-go say what they are in iceberg_type.
	rows, err := c.db.QueryContext(ctx, `SELECT * FROM iceberg_tables WHERE catalog_name = $1 ORDER BY table_namespace, table_name`, c.name)
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
	var file sql.NullString
	err := c.db.QueryRowContext(ctx,
		`SELECT metadata_location FROM iceberg_tables WHERE catalog_name = $1 AND table_namespace = $2 AND table_name = $3`,
		c.name, id.Namespace, id.Name).Scan(&file)
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
		m.Files = fileio.ForTable(storage, file)
		return m, nil
	}}
}
