package source

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

// hadoopCatalog is a warehouse directory: namespaces are directories, and a
// directory with metadata files is a table.
//
// It lists by itself: iceberg-go's hadoop catalog pays no heed to contexts and
// version hints, and refuses object stores unless it is allowed to write to them.
type hadoopCatalog struct {
	directory
	warehouse string
}

func openHadoop(_ context.Context, env environment) (catalog, error) {
	return &hadoopCatalog{
		directory: directory{files: env.storage(), limits: env.limits, moved: env.config.AllowMovedPaths},
		warehouse: env.config.Warehouse,
	}, nil
}

func (c *hadoopCatalog) list(ctx context.Context, wanted func(string) bool) ([]Identifier, error) {
	var tables []Identifier
	var walk func(levels []string) error
	walk = func(levels []string) error {
		for info, err := range c.files.List(ctx, uri.Join(c.warehouse, levels...)) {
			if err != nil {
				return err
			}
			name := uri.Base(info.URI)
			if !info.IsDir || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
				continue
			}
			below := append(levels[:len(levels):len(levels)], name)
			isTable, err := c.isTable(ctx, below)
			if err != nil {
				return err
			}
			if !isTable {
				if err := walk(below); err != nil {
					return err
				}
			} else if namespace := strings.Join(levels, "."); len(levels) > 0 && wanted(namespace) {
				tables = append(tables, newIdentifier(levels, name))
			}
		}
		return nil
	}
	return tables, walk(nil)
}

// isTable reports whether a directory holds a table: it has metadata files.
func (c *hadoopCatalog) isTable(ctx context.Context, levels []string) (bool, error) {
	for info, err := range c.files.List(ctx, uri.Join(c.warehouse, append(levels, metadataDirectory)...)) {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if !info.IsDir && versioned.MatchString(uri.Base(info.URI)) {
			return true, nil
		}
	}
	return false, nil
}

func (c *hadoopCatalog) locate(ctx context.Context, id Identifier) (*Table, error) {
	levels := append(id.levels(), id.Name)
	for _, level := range levels {
		if level == "" || strings.HasPrefix(level, ".") || strings.ContainsAny(level, "/\\") {
			return nil, ErrNoTable
		}
	}
	return c.directory.locate(ctx, uri.Join(c.warehouse, levels...))
}

func (c *hadoopCatalog) close() error { return c.files.Close() }
