package measure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/inventory"
	"github.com/iceberg-exporter/iceberg_exporter/maintenance"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
	"github.com/iceberg-exporter/iceberg_exporter/source"
	"github.com/iceberg-exporter/iceberg_exporter/storage"
	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

// ScanOptions say how a table's storage is scanned.
type ScanOptions struct {
	// Now is the moment of the scan.
	Now time.Time
	// OlderThan is how old a file must be to be an orphan.
	OlderThan time.Duration
	// Inventory is the URI of an S3 Inventory to read instead of listing; empty
	// for listing.
	Inventory string
	// Found is told of every file that nothing refers to, unless it is nil.
	Found func(fileio.Info, storage.State)
	// ReadTimeout bounds the reading of one file; 0 is no bound.
	ReadTimeout time.Duration
}

// Scan is what a scan of a table's storage found.
type Scan struct {
	// Location is the table's.
	Location string
	Figures  *storage.Figures
	// Time is when the scan began, or the report was made that it read.
	Time time.Time
}

const (
	// scanReads is how many files a scan reads at once. It is in no hurry.
	scanReads = 4
	// scanStats is how many files of an inventory are looked at at once.
	scanStats = 16
	// scanAttempts is how often the references are read before a table counts as
	// damaged: each attempt can meet an expiry that deletes what it is about to read.
	scanAttempts = 3
)

// Scan lists everything under a table's location and tells what it is. It reads
// the manifests of all snapshots, those that are not kept yet.
//
// What is committed during the listing must not look like an orphan, and what is
// expired not like a loss, so the metadata is read once more after it.
func (m *Measurer) Scan(ctx context.Context, catalog *Catalog, id source.Identifier, o ScanOptions) (*Scan, error) {
	var table *source.Table
	var before *references
	err := catalog.untilStill(ctx, id, scanAttempts, func(located *source.Table) (err error) {
		table = located
		before, err = m.references(ctx, catalog, located, o, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	location := before.table.Files.Location()
	if uri.LocationOf(location).IsRoot() {
		return nil, fmt.Errorf("%w: the table's location %q is a whole bucket or disk", metadata.ErrUnsupported, before.table.Location)
	}
	account := storage.NewAccount(before.References, storage.Rules{
		OlderThan: o.Now.Add(-o.OlderThan), Location: location, Fields: partitionFields(before.table),
	})
	account.Found = o.Found
	listed, err := list(ctx, before.table, o, account)
	if err != nil {
		return nil, err
	}
	var after *references
	err = catalog.untilStill(ctx, id, scanAttempts, func(located *source.Table) (err error) {
		after = nil
		if located.Version != table.Version {
			after, err = m.references(ctx, catalog, located, o, before)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var newer *storage.References
	if after != nil {
		newer = after.References
	}
	figures, err := account.Figures(newer)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", location, err)
	}
	if before.expiryRefused {
		figures.ExpirableBytes = nil
	}
	if o.Inventory != "" {
		figures.Missing = nil // A report does not have what was written after it.
	}
	return &Scan{Location: location, Figures: figures, Time: listed}, nil
}

// partitionFields are the names of all fields of all the table's partition specs.
func partitionFields(table *source.Metadata) []string {
	var names []string
	for _, spec := range table.Specs {
		for _, field := range spec.Fields {
			names = append(names, field.Name)
		}
	}
	return names
}

// list accounts for everything under a table's location, and returns when that
// was so.
func list(ctx context.Context, table *source.Metadata, o ScanOptions, account *storage.Account) (time.Time, error) {
	if o.Inventory != "" {
		return listInventory(ctx, table, o.Inventory, account, o.Now)
	}
	err := table.Files.Walk(ctx, table.Location, func(files []fileio.Info) error {
		account.Add(files)
		return ctx.Err()
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", storage.ErrElsewhere, err)
	}
	return o.Now, err
}

// listInventory is list by a report of S3 Inventory. What was deleted since then
// looks like an orphan in it, so every orphan is looked at once.
func listInventory(ctx context.Context, table *source.Metadata, location string, account *storage.Account, now time.Time) (time.Time, error) {
	report, err := inventory.Open(ctx, table.Files, location)
	if err != nil {
		return time.Time{}, fmt.Errorf("the inventory: %w", err)
	}
	if report.Created.After(now.Add(24 * time.Hour)) {
		return time.Time{}, fmt.Errorf("%w: the inventory %s was made at %s, which is yet to come", metadata.ErrCorrupt, report.Manifest, report.Created.Format(time.RFC3339))
	}
	err = report.Walk(ctx, table.Files.Location(), func(files []fileio.Info) error {
		there, err := stillThere(ctx, table, files, account)
		account.Add(there)
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("the inventory: %w", err)
	}
	return report.Created, nil
}

// stillThere returns the files of a report without the orphans that are gone.
func stillThere(ctx context.Context, table *source.Metadata, files []fileio.Info, account *storage.Account) ([]fileio.Info, error) {
	gone := make([]bool, len(files))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(scanStats)
	for i, f := range files {
		if account.State(f) != storage.Orphan {
			continue
		}
		group.Go(func() (err error) {
			defer recoverTo(&err)
			_, err = table.Files.Stat(ctx, f.URI)
			if gone[i] = errors.Is(err, fs.ErrNotExist); gone[i] {
				return nil
			}
			return err
		})
	}
	err := group.Wait()
	var there []fileio.Info
	for i, f := range files {
		if !gone[i] {
			there = append(there, f)
		}
	}
	return there, err
}

// references are the files that a table refers to.
type references struct {
	*storage.References
	table *source.Metadata
	// lists are the manifest lists that were read, manifests the manifests, by
	// the hashes of their paths.
	lists, manifests map[uint64]bool
	expiryRefused    bool
	timeout          time.Duration
}

// timed bounds the reading of a file: one that does not come must not hold up
// others, who may wait for it too.
func (r *references) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, r.timeout)
}

// references reads what a table refers to: the content files of the manifests of
// all its snapshots, and all other files. After earlier references, it leaves out
// those of lists and manifests that they have, but not of the current snapshot.
func (m *Measurer) references(ctx context.Context, catalog *Catalog, located *source.Table, o ScanOptions, earlier *references) (*references, error) {
	table, err := located.Read(ctx)
	if err != nil {
		return nil, err
	}
	r := &references{References: storage.NewReferences(), table: table, timeout: o.ReadTimeout, lists: map[uint64]bool{}, manifests: map[uint64]bool{}}
	r.addMetadata()
	snapshots, refused := byHolder(table.Table, o.Now)
	r.expiryRefused = refused
	for holder, held := range snapshots {
		files, err := r.unread(ctx, held, earlier, storage.Holder(holder) == storage.Current)
		if err != nil {
			return nil, err
		}
		if err := m.addContent(ctx, catalog, r, storage.Holder(holder), files); err != nil {
			return nil, err
		}
	}
	r.Seal()
	return r, nil
}

// byHolder returns the snapshots of each holder, and whether expire_snapshots
// would refuse, so that none can expire.
func byHolder(table *metadata.Table, now time.Time) (snapshots [3][]metadata.Snapshot, refused bool) {
	expiry := maintenance.ExpireSnapshots(table, now)
	expirable := map[metadata.SnapshotID]bool{}
	for _, id := range expiry.Snapshots {
		expirable[id] = true
	}
	for _, s := range table.Snapshots {
		holder := storage.Retained
		switch {
		case table.CurrentSnapshotID != nil && s.ID == *table.CurrentSnapshotID:
			holder = storage.Current
		case expirable[s.ID]:
			holder = storage.Expirable
		}
		snapshots[holder] = append(snapshots[holder], s)
	}
	return snapshots, expiry.Refusal != ""
}

// addMetadata adds the files that the metadata itself names, and its own.
func (r *references) addMetadata() {
	table := r.table
	location := table.Files.Location()
	within := uri.LocationOf(location)
	if table.File != "" {
		r.AddMetadata(within.Place(table.File))
	}
	for _, s := range table.Snapshots {
		if s.ManifestList != "" {
			r.AddMetadata(table.Files.Place(s.ManifestList))
		}
	}
	for _, file := range table.StatisticsFiles {
		r.AddMetadata(table.Files.Place(file))
	}
	for _, entry := range table.MetadataLog {
		r.AddOptional(table.Files.Place(entry.File))
	}
	r.AddOptional(within.Place(uri.Join(location, "metadata", "version-hint.text")))
}

// unread returns the manifests of snapshots that were not read yet, once each.
func (r *references) unread(ctx context.Context, snapshots []metadata.Snapshot, earlier *references, current bool) ([]manifest.File, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(scanReads)
	var mu sync.Mutex
	var unread []manifest.File
	for _, s := range snapshots {
		list := manifest.PathHash(s.ManifestList)
		if r.lists[list] && s.ManifestList != "" {
			continue
		}
		r.lists[list] = true
		if earlier != nil && earlier.lists[list] && s.ManifestList != "" && !current {
			continue
		}
		group.Go(func() (err error) {
			defer recoverTo(&err)
			ctx, cancel := r.timed(ctx)
			defer cancel()
			files, err := manifestsOf(ctx, r.table, s)
			mu.Lock()
			defer mu.Unlock()
			for _, file := range files {
				hash := manifest.PathHash(file.Path)
				if r.manifests[hash] {
					continue
				}
				r.manifests[hash] = true
				r.AddMetadata(r.table.Files.Place(file.Path))
				if current || earlier == nil || !earlier.manifests[hash] {
					unread = append(unread, file)
				}
			}
			return err
		})
	}
	err := group.Wait()
	return unread, err
}

// addContent adds the files of manifests.
func (m *Measurer) addContent(ctx context.Context, catalog *Catalog, r *references, holder storage.Holder, files []manifest.File) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(scanReads)
	var mu sync.Mutex
	for _, file := range files {
		key, err := keyOf(catalog, r.table, file)
		if err != nil {
			return err
		}
		group.Go(func() (err error) {
			defer recoverTo(&err)
			ctx, cancel := r.timed(ctx)
			defer cancel()
			record, err := m.cache.Scan(ctx, key, func(ctx context.Context) (*manifest.Record, error) {
				return m.record(ctx, r.table, file)
			})
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			r.AddContent(holder, record)
			return nil
		})
	}
	return group.Wait()
}
