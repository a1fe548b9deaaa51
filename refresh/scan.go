package refresh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/go-kit/log/level"
	"golang.org/x/sync/errgroup"

	"github.com/iceberg-exporter/iceberg_exporter/measure"
	"github.com/iceberg-exporter/iceberg_exporter/storage"
)

const (
	// scanSlots is how many scans of a catalog go on at once.
	scanSlots = 2
	// scanTick is how often it is looked which scans are due.
	scanTick = time.Second
	// firstScans is the time that the scans of a start are spread over, at most.
	firstScans = 10 * time.Minute
	// soonestRetry is how soon a scan that failed is tried again, at the soonest.
	soonestRetry = time.Minute
	// retriesPerInterval is how often that is while it goes on failing.
	retriesPerInterval = 24
)

// Scan is the state of the scans of a table's storage.
type Scan struct {
	// Done is whether there was a scan at all, Succeeded whether the last one did.
	Done, Succeeded bool
	// Duration is how long the last one took.
	Duration time.Duration
	// Result is that of the last scan that succeeded; nil without one.
	Result *measure.Scan
	// SharedWith is another table whose location is this table's, or in it or
	// around it; nil without one. Files of the one look like orphans of the other.
	SharedWith *Key
}

// Orphans returns what remove_orphan_files would delete, and whether that is known.
func (s Scan) Orphans() (storage.Usage, bool) {
	if s.Result == nil || s.SharedWith != nil || s.Result.Figures.Refusal != "" {
		return storage.Usage{}, false
	}
	return s.Result.Figures.Usage[storage.Orphan], true
}

// scanner is when a table's storage is scanned.
type scanner struct {
	last    Scan
	due     time.Time
	running bool
	// toldShared is whether it was told that the location is shared.
	toldShared bool
}

// StartScans scans the storage of the tables that ask for it in the background,
// each on its own schedule, until the fleet is closed. Refreshes do not wait for
// it.
func (f *Fleet) StartScans() { f.running.Go(f.runScans) }

func (f *Fleet) runScans() {
	ticker := time.NewTicker(scanTick)
	defer ticker.Stop()
	ended := make(chan struct{}, 1)
	var once sync.Once
	for {
		var due []*table
		for _, c := range f.current() {
			if c.scans() {
				// All tables must be known: one may lie in the location of another.
				once.Do(func() {
					ctx, cancel := context.WithTimeout(f.ctx, firstScans)
					defer cancel()
					f.Refresh(ctx)
				})
				c.discover()
				due = append(due, c.due()...)
			}
		}
		// Who waits longest goes first.
		slices.SortFunc(due, func(a, b *table) int { return a.scan.due.Compare(b.scan.due) })
		for _, t := range due {
			t.startScan(ended)
		}
		select {
		case <-ticker.C:
		case <-ended:
		case <-f.ctx.Done():
			return
		}
	}
}

// ScanTables scans the storage of tables at once, whether they ask for it or not,
// and returns their states. Their names are those that Table.Key has.
func (f *Fleet) ScanTables(ctx context.Context, keys []Key) []Table {
	// All tables must be known: one may lie in the location of another.
	f.Refresh(ctx)
	var scans errgroup.Group
	scans.SetLimit(scanSlots)
	states := make([]Table, len(keys))
	for i, key := range keys {
		scans.Go(func() error {
			if t := f.known(key); t != nil {
				t.runScan()
			}
			return nil
		})
		states[i] = Table{Key: key}
	}
	_ = scans.Wait()
	shared := f.overlaps()
	for i, key := range keys {
		if t := f.known(key); t != nil {
			states[i] = t.state(f.now(), shared)
		}
	}
	return states
}

// known returns the table of a key, or nil.
func (f *Fleet) known(key Key) *table {
	for _, c := range f.current() {
		if c.name == key.Catalog {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.tables[key.Identifier]
		}
	}
	return nil
}

// scans reports whether some table of the catalog may ask to be scanned.
func (c *catalog) scans() bool {
	for _, t := range c.client.Config().Tables {
		if t.OrphanScan.Enabled {
			return true
		}
	}
	return false
}

// due returns the tables whose scan is due.
func (c *catalog) due() []*table {
	return slices.DeleteFunc(c.list(), func(t *table) bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return !t.settings.OrphanScan.Enabled || t.scan.running || c.fleet.now().Before(t.scan.due)
	})
}

// startScan starts a scan where a slot is free, and tells when it has ended.
func (t *table) startScan(ended chan<- struct{}) {
	slots := t.catalog.scanSlots
	select {
	case slots <- struct{}{}:
	default:
		return
	}
	t.mu.Lock()
	t.scan.running = true
	t.mu.Unlock()
	t.catalog.fleet.running.Go(func() {
		t.runScan()
		<-slots
		select {
		case ended <- struct{}{}:
		default: // It is told already.
		}
	})
}

// runScan scans the table's storage. A scan that takes longer than the time
// between two is given up.
func (t *table) runScan() {
	c := t.catalog
	settings := t.settings.OrphanScan
	ctx, cancel := context.WithTimeout(c.ctx, time.Duration(settings.Interval))
	defer cancel()
	began := c.fleet.now()
	var found *measure.Scan
	err := measure.Guard(func() (err error) {
		found, err = c.fleet.measurer.Scan(ctx, c.source, t.key.Identifier, measure.ScanOptions{
			Now: began, OlderThan: time.Duration(settings.OlderThan), Inventory: settings.Inventory, ReadTimeout: time.Duration(c.scrape.TableTimeout),
		})
		return err
	})
	if c.ctx.Err() != nil {
		return
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no result within the orphan_scan.interval of %s: %w", time.Duration(settings.Interval), err)
	}
	t.settleScan(found, err, began)
}

// settleScan keeps the outcome of a scan.
func (t *table) settleScan(found *measure.Scan, err error, began time.Time) {
	f := t.catalog.fleet
	t.scanReport.outcome("scanning the table's storage", err)
	t.mu.Lock()
	now, interval := f.now(), time.Duration(t.settings.OrphanScan.Interval)
	s := &t.scan
	s.running = false
	s.last.Done, s.last.Succeeded, s.last.Duration = true, err == nil, now.Sub(began)
	s.due = now.Add(max(interval/retriesPerInterval, min(soonestRetry, interval)))
	if err == nil {
		s.due = began.Add(interval)
		s.last.Result, t.location = found, found.Location
		level.Debug(t.scanReport.logger).Log("msg", "scanned the table's storage", "duration", s.last.Duration, "files", found.Figures.Total().Files)
		if found.Figures.Refusal != "" {
			level.Warn(t.scanReport.logger).Log("msg", "remove_orphan_files would fail on the table, so there are no figures of orphans", "reason", found.Figures.Refusal)
		}
	}
	last := s.last
	t.mu.Unlock()
	f.results.keep(t, last, now)
}

// scheduleFirst says when a table is scanned for the first time since the start:
// when its last result is old enough, and else soon, at a moment of its own.
func (t *table) scheduleFirst() {
	interval := time.Duration(t.settings.OrphanScan.Interval)
	spread := min(interval/retriesPerInterval, firstScans)
	share := float64(xxhash.Sum64String(t.key.String())) / (1 << 64)
	t.scan.due = t.catalog.fleet.now().Add(time.Duration(share * float64(spread)))
	if last, ok := t.catalog.fleet.results.of(t, t.catalog.fleet.now()); ok {
		t.scan.last, t.location = last, last.Result.Location
		if due := last.Result.Time.Add(interval); due.After(t.scan.due) {
			t.scan.due = due
		}
	}
}
