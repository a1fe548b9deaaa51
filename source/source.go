// Package source finds the tables that the configuration names: it lists
// catalogs, tells where a table's metadata is, and reads it.
//
// Telling where is kept apart from reading, so that a table that has not changed
// costs its catalog one answer and the storage nothing.
package source

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// ErrNoTable says that the catalog answered, and has no such table. It is an
// fs.ErrNotExist.
var ErrNoTable = fmt.Errorf("the catalog has no such table: %w", fs.ErrNotExist)

// Identifier names a table within its catalog.
type Identifier struct {
	// Namespace is the levels of the namespace joined with dots.
	Namespace string
	Name      string
	// parts are the levels where one of them has a dot in it, joined with a
	// character that names do not have; empty where the dots tell them apart.
	parts string
}

// levelSeparator cannot be part of a name: Iceberg's REST protocol separates
// levels with it.
const levelSeparator = "\x1f"

// newIdentifier names a table in a namespace of these levels.
func newIdentifier(levels []string, name string) Identifier {
	id := Identifier{Namespace: strings.Join(levels, "."), Name: name}
	if strings.Contains(strings.Join(levels, ""), ".") {
		id.parts = strings.Join(levels, levelSeparator)
	}
	return id
}

// String returns namespace.table.
func (id Identifier) String() string {
	if id.Namespace == "" {
		return id.Name
	}
	return id.Namespace + "." + id.Name
}

// levels returns the namespace's levels.
func (id Identifier) levels() []string {
	switch {
	case id.parts != "":
		return strings.Split(id.parts, levelSeparator)
	case id.Namespace == "":
		return nil
	default:
		return strings.Split(id.Namespace, ".")
	}
}

// ParseIdentifier splits namespace.table.
func ParseIdentifier(name string) Identifier {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return Identifier{Name: name}
	}
	return Identifier{Namespace: name[:i], Name: name[i+1:]}
}

// Table is a table as its catalog has it at one moment.
type Table struct {
	// Version changes whenever the table does.
	Version string
	// read reads the metadata.
	read func(context.Context) (*Metadata, error)
}

// Metadata is a table's metadata and where it was read.
type Metadata struct {
	*metadata.Table
	// File is the URI of the metadata file; empty where the catalog does not tell.
	File string
	// Bytes is the size of the metadata file as it is stored; nil where the
	// catalog hands out the metadata and the file cannot be looked at.
	Bytes *int64
	// Files are the files that the metadata names.
	Files *fileio.TableFiles
}

// Read reads the table's metadata.
func (t *Table) Read(ctx context.Context) (*Metadata, error) { return t.read(ctx) }

// catalog is one kind of catalog. Its methods may be called concurrently.
type catalog interface {
	// list returns the tables of every namespace that wanted returns true for.
	list(ctx context.Context, wanted func(namespace string) bool) ([]Identifier, error)
	// locate finds a table; ErrNoTable where there is none.
	locate(ctx context.Context, id Identifier) (*Table, error)
	close() error
}

// opener opens a catalog of some kind. The environment's context lives as long
// as the catalog, the other one as long as the opening.
type opener func(ctx context.Context, env environment) (catalog, error)

// openers has every kind of catalog; each is a file of this package.
func openers() map[config.CatalogType]opener {
	return map[config.CatalogType]opener{
		config.Metadata: openMetadata,
		config.Hadoop:   openHadoop,
		config.SQL:      openSQL,
		config.REST:     openREST,
		config.Glue:     openGlue,
		config.Hive:     openHive,
	}
}

// environment is what a catalog is opened with.
type environment struct {
	// ctx ends when the catalog is closed.
	ctx     context.Context
	config  *config.Catalog
	secrets config.Secrets
	limits  Limits
	counter *fileio.Counter
}

// Limits bound what a catalog may make the reader take in.
type Limits struct {
	// MetadataBytes is the largest metadata file, uncompressed.
	MetadataBytes int64
}

// properties are the catalog's properties for iceberg-go's object stores.
func (e environment) properties() map[string]string { return e.secrets.Properties }

// storage gives access to what the catalog's properties do.
func (e environment) storage() *fileio.Storage {
	return fileio.New(e.ctx, e.properties(), e.counter)
}

// readFile reads a metadata file.
func readFile(ctx context.Context, files fileio.Files, file string, limits Limits) (*Metadata, error) {
	r, err := files.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	counted := &countingReader{r: r}
	table, err := metadata.Parse(counted, limits.MetadataBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &Metadata{Table: table, File: file, Bytes: &counted.n}, nil
}
