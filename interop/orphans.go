package interop

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/measure"
	"github.com/iceberg-exporter/iceberg_exporter/source"
	"github.com/iceberg-exporter/iceberg_exporter/storage"
)

// OlderThan is how old remove_orphan_files wants a file to be, by default.
const OlderThan = 72 * time.Hour

// Orphans scans the table of a local metadata file for what remove_orphan_files
// would delete at a moment. It returns the files in their order, by their names
// below the table's location. A table that was moved is scanned where it is.
func Orphans(ctx context.Context, metadataFile string, moved bool, now time.Time) ([]string, error) {
	var found []string
	scanned, err := scan(ctx, metadataFile, moved, measure.ScanOptions{Now: now, OlderThan: OlderThan, Found: func(file fileio.Info, state storage.State) {
		if state == storage.Orphan {
			found = append(found, file.URI)
		}
	}})
	if err != nil {
		return nil, err
	}
	if scanned.Figures.Refusal != "" {
		return nil, errors.New(scanned.Figures.Refusal)
	}
	orphans := make([]string, len(found))
	for i, file := range found {
		orphans[i] = strings.TrimPrefix(file, strings.TrimRight(scanned.Location, "/")+"/")
	}
	slices.Sort(orphans)
	return orphans, nil
}

// Expirable scans the table of a local metadata file for the bytes that
// expire_snapshots would free.
func Expirable(ctx context.Context, metadataFile string, now time.Time) (*int64, error) {
	scanned, err := scan(ctx, metadataFile, false, measure.ScanOptions{Now: now, OlderThan: OlderThan})
	if err != nil {
		return nil, err
	}
	return scanned.Figures.ExpirableBytes, nil
}

func scan(ctx context.Context, metadataFile string, moved bool, options measure.ScanOptions) (*measure.Scan, error) {
	client := source.NewClient(config.Catalog{
		Name: "interop", Type: config.Metadata, AllowMovedPaths: moved,
		Tables: []config.Table{{Name: "interop.table", Location: metadataFile}},
	}, source.Limits{MetadataBytes: 64 << 20}, &fileio.Counter{})
	defer client.Close()
	measurer := measure.NewMeasurer(manifest.NewCache(64 << 20))
	return measurer.Scan(ctx, measure.NewCatalog(client, 1), source.ParseIdentifier("interop.table"), options)
}
