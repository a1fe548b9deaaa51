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
	client := source.NewClient(config.Catalog{
		Name: "interop", Type: config.Metadata, AllowMovedPaths: moved,
		Tables: []config.Table{{Name: "interop.table", Location: metadataFile}},
	}, source.Limits{MetadataBytes: 64 << 20}, &fileio.Counter{})
	defer client.Close()
	var found []string
	options := measure.ScanOptions{Now: now, OlderThan: OlderThan, Found: func(file fileio.Info, state storage.State) {
		if state == storage.Orphan {
			found = append(found, file.URI)
		}
	}}
	measurer := measure.NewMeasurer(manifest.NewCache(64 << 20))
	scan, err := measurer.Scan(ctx, measure.NewCatalog(client, 1), source.ParseIdentifier("interop.table"), options)
	if err != nil {
		return nil, err
	}
	if scan.Figures.Refusal != "" {
		return nil, errors.New(scan.Figures.Refusal)
	}
	orphans := make([]string, len(found))
	for i, file := range found {
		orphans[i] = strings.TrimPrefix(file, strings.TrimRight(scan.Location, "/")+"/")
	}
	slices.Sort(orphans)
	return orphans, nil
}
