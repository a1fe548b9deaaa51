package refresh

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/maintenance"
	"github.com/iceberg-exporter/iceberg_exporter/measure"
	"github.com/iceberg-exporter/iceberg_exporter/source"
)

// Table is the state of a table at one moment.
type Table struct {
	Key      Key
	Settings config.Settings
	// Up is whether the last refresh succeeded, and Err why it did not.
	Up  bool
	Err error
	// Refreshed is whether there was a refresh at all, of this Duration.
	Refreshed bool
	Duration  time.Duration
	// LastSuccess is when the figures were last right; zero if never.
	LastSuccess time.Time
	// Measurement has the figures; nil while there are none to believe in.
	Measurement *measure.Measurement
	Scan        Scan
}

// table is a table that is refreshed now and then.
type table struct {
	catalog  *catalog
	key      Key
	settings config.Settings
	// exact is whether the configuration names the table, rather than a glob.
	exact              bool
	report, scanReport *reporter

	mu   sync.Mutex
	last Table
	scan scanner
	// location is where the table was last seen; empty before that.
	location string
	// pin is what was last told of.
	pin maintenance.Pin
	// done is closed when the refresh under way is; nil without one.
	done chan struct{}
}

func newTable(c *catalog, id source.Identifier) *table {
	entry, _ := c.client.Config().Match(id.String())
	key := Key{Catalog: c.name, Identifier: id}
	logger := log.With(c.fleet.logger, "catalog", c.name, "table", id.String())
	t := &table{
		catalog: c, key: key, settings: entry.Settings, exact: !entry.IsGlob(),
		report: &reporter{logger: logger}, scanReport: &reporter{logger: logger},
		last: Table{Key: key, Settings: entry.Settings},
	}
	if t.settings.OrphanScan.Enabled {
		t.scheduleFirst()
	}
	return t
}

// state returns the table's state. Figures that have not been right for too
// long are left out.
func (t *table) state(now time.Time, shared map[*table]Key) Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	state := t.last
	state.Scan = t.scan.last
	if with, ok := shared[t]; ok {
		state.Scan.SharedWith = &with
	}
	if now.Sub(state.LastSuccess) > time.Duration(t.catalog.scrape.MaxStaleness) {
		state.Measurement, state.Up = nil, false
	}
	return state
}

// refresh starts a refresh where none is under way, and returns what is closed
// when it is done.
func (t *table) refresh() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == nil {
		t.done = make(chan struct{})
		done := t.done
		t.catalog.fleet.running.Go(func() { t.run(done) })
	}
	return t.done
}

// run measures the table within its time. Whoever waits is released when the
// time is over, even where a call pays no heed to its context; no other refresh
// of the table begins before that call returns.
func (t *table) run(done chan struct{}) {
	c := t.catalog
	select {
	case c.slots <- struct{}{}:
	case <-c.ctx.Done():
		t.idle()
		close(done)
		return
	}
	c.fleet.inFlight.Add(1)
	ctx, cancel := context.WithTimeout(c.ctx, time.Duration(c.scrape.TableTimeout))
	defer cancel()
	began := c.fleet.now()
	t.mu.Lock()
	previous := t.last.Measurement
	t.mu.Unlock()
	// What the goroutine finds is looked at only once it has finished.
	var found struct {
		*measure.Measurement
		err error
	}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		found.err = measure.Guard(func() (err error) {
			found.Measurement, err = c.fleet.measurer.Measure(ctx, c.source, t.key.Identifier, t.settings, previous)
			return err
		})
	}()
	var measured *measure.Measurement
	err := context.DeadlineExceeded
	returned := waitFor(ctx, finished)
	if returned {
		measured, err = found.Measurement, found.err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no result within the table_timeout of %s: %w", time.Duration(c.scrape.TableTimeout), err)
	}
	c.fleet.inFlight.Add(-1)
	<-c.slots
	if c.ctx.Err() == nil {
		t.settle(measured, err, began)
	}
	if returned {
		// Before anybody is released: who then asks again wants another refresh.
		t.idle()
		close(done)
		return
	}
	close(done)
	<-finished
	t.idle()
}

// idle says that no refresh is under way.
func (t *table) idle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done = nil
}

// waitFor waits for what a context bounds, and a little longer. It reports
// whether that has finished.
func waitFor(ctx context.Context, finished <-chan struct{}) bool {
	select {
	case <-finished:
		return true
	case <-ctx.Done():
	}
	select {
	case <-finished:
		return true
	case <-time.After(gracePeriod):
		return false
	}
}

// gracePeriod is how long a call has to notice that its context has ended.
const gracePeriod = time.Second

// settle keeps the outcome of a refresh.
func (t *table) settle(measured *measure.Measurement, err error, began time.Time) {
	f := t.catalog.fleet
	t.report.outcome("measuring the table", err)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := f.now()
	t.last.Refreshed, t.last.Duration, t.last.Up, t.last.Err = true, now.Sub(began), err == nil, err
	if err != nil {
		f.failed.Add(1)
		if placed, ok := errors.AsType[*measure.PlacedError](err); ok {
			t.location = placed.Location
		}
		if errors.Is(err, source.ErrNoTable) && !t.exact {
			t.catalog.missed(t)
		}
		return
	}
	f.succeeded.Add(1)
	if measured != t.last.Measurement {
		t.tellPin(measured, now)
	}
	t.last.Measurement, t.last.LastSuccess, t.location = measured, now, measured.Location
}

// tellPin names the branch or tag that keeps the oldest snapshot from expiring,
// once for each: a label would have a value for every ref that there ever was.
func (t *table) tellPin(measured *measure.Measurement, now time.Time) {
	pin, found := maintenance.OldestPin(measured.Snapshots, now)
	if found && (pin.Ref.Name != t.pin.Ref.Name || pin.Ref.SnapshotID != t.pin.Ref.SnapshotID) {
		level.Info(t.report.logger).Log("msg", "of the branches and tags, this one keeps the oldest snapshot",
			"ref", pin.Ref.Name, "type", pin.Ref.Type, "snapshot", pin.Ref.SnapshotID, "committed", pin.Committed.UTC().Format(time.RFC3339))
	}
	t.pin = pin
}
