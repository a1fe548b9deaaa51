package manifest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/iceberg-exporter/iceberg_exporter/manifest"
)

// recordOf makes a record of n files.
func recordOf(t *testing.T, n int) *manifest.Record {
	t.Helper()
	var entries []any
	for i := range n {
		entries = append(entries, dataFile(fmt.Sprint(i), 1, values{"record_count": i, "file_size_in_bytes": i}))
	}
	return read(t, encode(t, entrySchema(`"int"`, "", ""), nil, nil, entries...), manifest.File{})
}

func TestRecordBytes(t *testing.T) {
	// Path hash, size and rows; all else is constant.
	if perFile := float64(recordOf(t, 10_000).Bytes()) / 10_000; perFile < 24 || perFile > 25 {
		t.Errorf("%v bytes a file", perFile)
	}
}

func TestCacheReadsOnce(t *testing.T) {
	cache, record := manifest.NewCache(1<<20), recordOf(t, 10)
	var reads atomic.Int64
	release := make(chan struct{})
	var waiting sync.WaitGroup
	for range 50 {
		waiting.Go(func() {
			got, err := cache.Get(t.Context(), manifest.Key{URI: "m"}, func(context.Context) (*manifest.Record, error) {
				reads.Add(1)
				<-release
				return record, nil
			})
			if got != record || err != nil {
				t.Error(got, err)
			}
		})
	}
	close(release)
	waiting.Wait()
	if reads.Load() != 1 {
		t.Errorf("%d reads", reads.Load())
	}
	if s := cache.Stats(); s.Misses != 1 || s.Hits+s.Misses > 50 || s.Entries != 1 || s.Bytes < record.Bytes() {
		t.Errorf("%+v", s)
	}
}

func TestCacheEvictsLeastRecentlyUsed(t *testing.T) {
	record := recordOf(t, 100)
	cache := manifest.NewCache(3 * (record.Bytes() + 250))
	get := func(path string) (wasRead bool) {
		_, err := cache.Get(t.Context(), manifest.Key{URI: path}, func(context.Context) (*manifest.Record, error) {
			wasRead = true
			return record, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return wasRead
	}
	for _, step := range []struct {
		path string
		read bool
	}{{"a", true}, {"b", true}, {"c", true}, {"a", false}, {"d", true}, {"a", false}, {"b", true}, {"d", false}, {"c", true}} {
		if got := get(step.path); got != step.read {
			t.Errorf("%s: read %v", step.path, got)
		}
	}
	s := cache.Stats()
	if s.Bytes > s.Limit || s.Evictions != 3 {
		t.Errorf("%+v", s)
	}
	cache.SetLimit(0)
	if s := cache.Stats(); s.Bytes != 0 || s.Entries != 0 {
		t.Errorf("after the limit fell to 0: %+v", s)
	}
	for range 2 {
		if !get("a") {
			t.Error("a record larger than the cache was kept")
		}
	}
}

func TestCacheKeepsNoErrors(t *testing.T) {
	cache := manifest.NewCache(1 << 20)
	broken := errors.New("broken")
	fails := func(context.Context) (*manifest.Record, error) { return nil, broken }
	for range 2 {
		if _, err := cache.Get(t.Context(), manifest.Key{}, fails); !errors.Is(err, broken) {
			t.Fatal(err)
		}
	}
	if s := cache.Stats(); s.Misses != 2 {
		t.Errorf("%+v", s)
	}
}

// TestCacheKeysTellStoresApart: equal paths in two stores are two files.
func TestCacheKeysTellStoresApart(t *testing.T) {
	cache, a, b := manifest.NewCache(1<<20), recordOf(t, 1), recordOf(t, 2)
	for store, record := range map[string]*manifest.Record{"a": a, "b": b} {
		got, err := cache.Get(t.Context(), manifest.Key{Store: store, URI: "m"}, func(context.Context) (*manifest.Record, error) { return record, nil })
		if got != record || err != nil {
			t.Error(store, got, err)
		}
	}
}

// TestCacheLeaderGivesUp: when the caller that reads is cancelled, another reads.
func TestCacheLeaderGivesUp(t *testing.T) {
	cache, record := manifest.NewCache(1<<20), recordOf(t, 1)
	leaderContext, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	led := make(chan error)
	go func() {
		_, err := cache.Get(leaderContext, manifest.Key{}, func(ctx context.Context) (*manifest.Record, error) {
			close(started)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		led <- err
	}()
	<-started
	followed := make(chan error)
	go func() {
		got, err := cache.Get(t.Context(), manifest.Key{}, func(context.Context) (*manifest.Record, error) { return record, nil })
		if err == nil && got != record {
			err = errors.New("another record")
		}
		followed <- err
	}()
	cancel()
	if err := <-led; !errors.Is(err, context.Canceled) {
		t.Errorf("the leader: %v", err)
	}
	if err := <-followed; err != nil {
		t.Errorf("the follower: %v", err)
	}
}

// TestCacheFollowerGivesUp: who waits for another's read can give up.
func TestCacheFollowerGivesUp(t *testing.T) {
	cache := manifest.NewCache(1 << 20)
	started, release := make(chan struct{}), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = cache.Get(t.Context(), manifest.Key{}, func(context.Context) (*manifest.Record, error) {
			close(started)
			<-release
			return nil, errors.New("late")
		})
	}()
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cache.Get(ctx, manifest.Key{}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(release)
	<-done
}

// TestCacheSurvivesPanic: a reader that panics leaves nobody waiting.
func TestCacheSurvivesPanic(t *testing.T) {
	cache, record := manifest.NewCache(1<<20), recordOf(t, 1)
	func() {
		defer func() { _ = recover() }()
		_, _ = cache.Get(t.Context(), manifest.Key{}, func(context.Context) (*manifest.Record, error) { panic("bug") })
	}()
	got, err := cache.Get(t.Context(), manifest.Key{}, func(context.Context) (*manifest.Record, error) { return record, nil })
	if got != record || err != nil {
		t.Error(got, err)
	}
}

// TestCacheKeysTellListsApart: what one list says of a manifest is not what
// another says of the same file.
func TestCacheKeysTellListsApart(t *testing.T) {
	file := manifest.File{Path: "m", Length: 1}
	for _, other := range []manifest.File{
		{Path: "m", Length: 2}, {Path: "m", Length: 1, SpecID: 1}, {Path: "m", Length: 1, Content: manifest.Deletes}, {Path: "m", Length: 1, SequenceNumber: 1},
	} {
		if manifest.KeyOf("s", "/t", "m", file) == manifest.KeyOf("s", "/t", "m", other) {
			t.Errorf("%+v has the key of %+v", other, file)
		}
	}
	if manifest.KeyOf("s", "/t", "/a/m", file) == manifest.KeyOf("s", "/t", "/b/m", file) {
		t.Error("two places have one key")
	}
}

// TestCacheScans: what scans read is kept while there is room, makes way for what
// is asked for again and again, and never the other way round.
func TestCacheScans(t *testing.T) {
	record := recordOf(t, 100)
	cache := manifest.NewCache(3 * (record.Bytes() + 250))
	reads := 0
	readRecord := func(context.Context) (*manifest.Record, error) { reads++; return record, nil }
	for i, step := range []struct {
		path string
		scan bool
		read bool
	}{
		{"a", false, true},
		{"old1", true, true},
		{"old1", true, false},
		{"a", true, false},
		{"old2", true, true},
		{"old3", true, true}, // Drives out old1.
		{"old1", true, true}, // Drives out old2.
		{"b", false, true},   // Drives out old3.
		{"a", false, false},
		{"old1", false, false}, // Is now one of those that are asked for.
		{"old4", true, true},   // Finds no room.
		{"old4", true, true},
		{"a", false, false},
		{"b", false, false},
		{"old1", false, false},
	} {
		before := reads
		get := cache.Get
		if step.scan {
			get = cache.Scan
		}
		if got, err := get(t.Context(), manifest.Key{URI: step.path}, readRecord); got != record || err != nil {
			t.Fatal(got, err)
		}
		if wasRead := reads > before; wasRead != step.read {
			t.Errorf("step %d, %s: read %v", i, step.path, wasRead)
		}
	}
	if s := cache.Stats(); s.Evictions != 0 || s.Bytes > s.Limit || s.Entries != 3 {
		t.Errorf("%+v", s)
	}
}
