// Package measure takes the measure of one table: it finds the table's metadata,
// reads the manifests that are not known yet, and computes the figures.
package measure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/layout"
	"github.com/iceberg-exporter/iceberg_exporter/maintenance"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
	"github.com/iceberg-exporter/iceberg_exporter/source"
)

// Measurement has a table's figures at one moment. It is immutable.
type Measurement struct {
	// Version is the table's, by which a change is noticed.
	Version string
	// MetadataBytes is the size of the metadata file; nil where it is not known.
	MetadataBytes *int64
	// Location is where the table is, which for one that was moved is not where
	// its metadata says.
	Location string
	Info     layout.Info
	Layout   *layout.Layout
	History  *layout.History
	// Prediction is what the procedures that rewrite files would do.
	Prediction maintenance.Prediction
	// Snapshots is the table's lineage, for what changes as time goes by.
	Snapshots *metadata.Table
}

// Catalog is a catalog to measure tables of.
type Catalog struct {
	Client *source.Client
	// reads bounds the manifests that refreshes read at once.
	reads chan struct{}
}

// NewCatalog returns a catalog of which at most this many manifests are read at once.
func NewCatalog(client *source.Client, concurrency int) *Catalog {
	return &Catalog{Client: client, reads: make(chan struct{}, concurrency)}
}

// Measurer measures tables. It is safe for concurrent use.
type Measurer struct {
	cache *manifest.Cache
	read  atomic.Uint64
}

// NewMeasurer returns a measurer that keeps the records of manifests in this cache.
func NewMeasurer(cache *manifest.Cache) *Measurer { return &Measurer{cache: cache} }

// ManifestsRead is how many manifests were read from storage so far.
func (m *Measurer) ManifestsRead() uint64 { return m.read.Load() }

// Measure measures a table. It returns the previous measurement, which may be
// nil, where the table has not changed since.
//
// Between reading metadata and a manifest, an expiry or a new commit can delete
// files. When files are missing, the metadata is therefore read once more.
func (m *Measurer) Measure(ctx context.Context, catalog *Catalog, id source.Identifier, settings config.Settings, previous *Measurement) (*Measurement, error) {
	var measured *Measurement
	err := catalog.untilStill(ctx, id, measureAttempts, func(table *source.Table) (err error) {
		if previous != nil && previous.Version == table.Version {
			measured = previous
			return nil
		}
		measured, err = m.measure(ctx, catalog, table, settings)
		return err
	})
	if err != nil {
		return nil, err
	}
	return measured, nil
}

// measureAttempts is how often a table is measured that changes meanwhile.
const measureAttempts = 2

// untilStill reads something of a table, and again where files are gone that the
// table, as it has changed meanwhile, no longer refers to.
func (c *Catalog) untilStill(ctx context.Context, id source.Identifier, attempts int, read func(*source.Table) error) error {
	table, err := c.Client.Locate(ctx, id)
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		readErr := read(table)
		// A store that does not let its files be listed denies those that are missing.
		if !errors.Is(readErr, fs.ErrNotExist) && !errors.Is(readErr, fs.ErrPermission) || attempt == attempts {
			return readErr
		}
		again, err := c.Client.Locate(ctx, id)
		if err != nil || again.Version == table.Version {
			return readErr
		}
		table = again
	}
}

func (m *Measurer) measure(ctx context.Context, catalog *Catalog, table *source.Table, settings config.Settings) (*Measurement, error) {
	read, err := table.Read(ctx)
	if err != nil {
		return nil, err
	}
	measured, err := m.measureRead(ctx, catalog, read, settings)
	if err != nil {
		return nil, &PlacedError{Location: read.Files.Location(), Err: err}
	}
	measured.Version = table.Version
	return measured, nil
}

// PlacedError is an error of a table whose location is known all the same.
type PlacedError struct {
	Location string
	Err      error
}

// Error implements error.
func (e *PlacedError) Error() string { return e.Err.Error() }

// Unwrap returns what was wrong.
func (e *PlacedError) Unwrap() error { return e.Err }

func (m *Measurer) measureRead(ctx context.Context, catalog *Catalog, read *source.Metadata, settings config.Settings) (*Measurement, error) {
	files, err := manifests(ctx, read)
	if err != nil {
		return nil, err
	}
	records, err := m.records(ctx, catalog, read, files)
	if err != nil {
		return nil, err
	}
	measured := &Measurement{MetadataBytes: read.Bytes, Location: read.Files.Location(), Snapshots: read.Lineage()}
	// Both look at every file.
	var group errgroup.Group
	group.Go(func() (err error) {
		defer recoverTo(&err)
		measured.Prediction = maintenance.Predict(read.Table, files, records)
		return nil
	})
	group.Go(func() (err error) {
		defer recoverTo(&err)
		measured.Info, measured.History = layout.MeasureInfo(read.Table), layout.MeasureHistory(read.Table)
		measured.Layout, err = layout.Measure(read.Table, files, records, layout.Options{
			SmallFileThreshold: int64(settings.SmallFileThreshold),
			PartitionsTop:      settings.PartitionsTop,
		})
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return measured, nil
}

// manifests returns the manifests of the current snapshot.
func manifests(ctx context.Context, table *source.Metadata) ([]manifest.File, error) {
	current, ok := table.Current()
	if !ok {
		return nil, nil
	}
	return manifestsOf(ctx, table, current)
}

// manifestsOf returns the manifests of a snapshot.
func manifestsOf(ctx context.Context, table *source.Metadata, s metadata.Snapshot) ([]manifest.File, error) {
	if s.ManifestList == "" {
		return inlineManifests(ctx, table, s)
	}
	r, err := table.Files.Open(ctx, s.ManifestList)
	if err != nil {
		return nil, fmt.Errorf("the manifest list: %w", err)
	}
	defer r.Close()
	files, err := manifest.ReadList(r)
	if err != nil {
		return nil, fmt.Errorf("the manifest list %s: %w", s.ManifestList, err)
	}
	return files, nil
}

// inlineManifests are the manifests of an old v1 snapshot, which names them
// itself and says nothing else of them.
func inlineManifests(ctx context.Context, table *source.Metadata, s metadata.Snapshot) ([]manifest.File, error) {
	var files []manifest.File
	for _, path := range s.Manifests {
		info, err := table.Files.Stat(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("a manifest: %w", err)
		}
		files = append(files, manifest.File{Path: path, Length: info.Size, SpecID: manifest.UnknownSpec})
	}
	return files, nil
}

// records returns the records of manifests, in their order.
func (m *Measurer) records(ctx context.Context, catalog *Catalog, table *source.Metadata, files []manifest.File) ([]*manifest.Record, error) {
	records := make([]*manifest.Record, len(files))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cap(catalog.reads))
	for i, file := range files {
		key, err := keyOf(catalog, table, file)
		if err != nil {
			return nil, err
		}
		if record, ok := m.cache.Peek(key); ok {
			records[i] = record
			continue
		}
		group.Go(func() (err error) {
			defer recoverTo(&err)
			records[i], err = m.cache.Get(ctx, key, func(ctx context.Context) (*manifest.Record, error) {
				select {
				case catalog.reads <- struct{}{}:
					defer func() { <-catalog.reads }()
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				return m.record(ctx, table, file)
			})
			return err
		})
	}
	return records, group.Wait()
}

// keyOf returns the key of a manifest in the cache.
func keyOf(catalog *Catalog, table *source.Metadata, file manifest.File) (manifest.Key, error) {
	at, err := table.Files.Resolve(file.Path)
	if err != nil {
		return manifest.Key{}, err
	}
	return manifest.KeyOf(catalog.Client.Store(), table.Files.Location(), at, file), nil
}

// record reads one manifest.
func (m *Measurer) record(ctx context.Context, table *source.Metadata, file manifest.File) (*manifest.Record, error) {
	m.read.Add(1)
	r, err := table.Files.Open(ctx, file.Path)
	if err != nil {
		return nil, fmt.Errorf("a manifest: %w", err)
	}
	defer r.Close()
	record, err := manifest.ReadRecord(r, file, table.Files)
	if err != nil {
		return nil, fmt.Errorf("the manifest %s: %w", file.Path, err)
	}
	return record, nil
}
