package bench_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/go-kit/log"

	"github.com/iceberg-exporter/iceberg_exporter/bench"
	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/measure"
	"github.com/iceberg-exporter/iceberg_exporter/refresh"
	"github.com/iceberg-exporter/iceberg_exporter/source"
)

const (
	manifests        = 1000
	filesPerManifest = 1000
)

// large returns a table of a million files. It takes a minute to generate and
// 800 MB, so it is kept for the next run.
func large(b *testing.B) *bench.Table {
	b.Helper()
	t := &bench.Table{Directory: filepath.Join(os.TempDir(), "iceberg_exporter_bench", "large")}
	earlier, err := filepath.Glob(filepath.Join(t.Directory, "metadata", "v*"))
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range earlier {
		if err := os.Remove(file); err != nil {
			b.Fatal(err)
		}
	}
	for range manifests {
		if err := t.Append(filesPerManifest); err != nil {
			b.Fatal(err)
		}
	}
	if err := t.Commit(); err != nil {
		b.Fatal(err)
	}
	return t
}

// setup is what measuring one table needs.
type setup struct {
	measurer *measure.Measurer
	cache    *manifest.Cache
	counter  *fileio.Counter
	catalog  *measure.Catalog
	settings config.Settings
	id       source.Identifier
}

func newSetup(b *testing.B, directory string) *setup {
	b.Helper()
	c, err := config.Parse("bench", fmt.Appendf(nil, "{catalogs: [{name: c, type: metadata, tables: [{name: n.t, location: %s}]}]}", directory))
	if err != nil {
		b.Fatal(err)
	}
	s := &setup{cache: manifest.NewCache(256 << 20), counter: &fileio.Counter{}, settings: c.Settings, id: source.ParseIdentifier("n.t")}
	s.measurer = measure.NewMeasurer(s.cache)
	client := source.NewClient(c.Catalogs[0], source.Limits{MetadataBytes: 64 << 20}, s.counter)
	b.Cleanup(func() { _ = client.Close() })
	s.catalog = measure.NewCatalog(client, c.Scrape.Concurrency)
	return s
}

func (s *setup) measure(b *testing.B, previous *measure.Measurement) *measure.Measurement {
	b.Helper()
	m, err := s.measurer.Measure(b.Context(), s.catalog, s.id, s.settings, previous)
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// BenchmarkColdRead reads a table of a million files that nothing is known of,
// on one core and on two.
func BenchmarkColdRead(b *testing.B) {
	t := large(b)
	for _, cores := range []int{1, 2} {
		b.Run(fmt.Sprintf("cores=%d", cores), func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
			var held, peak float64
			for b.Loop() {
				b.StopTimer()
				debug.FreeOSMemory()
				stop := watchMemory()
				b.StartTimer()
				s := newSetup(b, t.Directory)
				if m := s.measure(b, nil); m.Layout.DataFiles != manifests*filesPerManifest {
					b.Fatal(m.Layout.DataFiles)
				}
				b.StopTimer()
				peak = max(peak, stop())
				held = float64(s.cache.Stats().Bytes) / (manifests * filesPerManifest)
				b.StartTimer()
			}
			b.ReportMetric(float64(b.N)*manifests*filesPerManifest/b.Elapsed().Seconds(), "files/s")
			b.ReportMetric(held, "bytes/file")
			b.ReportMetric(peak/1e6, "peak-MB")
		})
	}
}

// watchMemory samples the memory that the runtime holds until it is stopped.
func watchMemory() (stop func() (peak float64)) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	var peak float64
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			metrics.Read(sample)
			peak = max(peak, float64(sample[0].Value.Uint64()-sample[1].Value.Uint64()))
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() float64 { close(done); <-stopped; return peak }
}

// BenchmarkUnchanged asks for a table of a million files that has not changed.
func BenchmarkUnchanged(b *testing.B) {
	s := newSetup(b, large(b).Directory)
	m := s.measure(b, nil)
	read := s.counter.Bytes()
	b.ReportAllocs()
	for b.Loop() {
		if s.measure(b, m) != m {
			b.Fatal("the table was measured again")
		}
	}
	b.ReportMetric(float64(s.counter.Bytes()-read)/float64(b.N), "bytes-read/op")
}

// BenchmarkOneAppend measures a table of a million files after one commit of a
// thousand.
func BenchmarkOneAppend(b *testing.B) {
	t := large(b)
	s := newSetup(b, t.Directory)
	m := s.measure(b, nil)
	read := s.measurer.ManifestsRead()
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		if err := t.Append(filesPerManifest); err != nil {
			b.Fatal(err)
		}
		if err := t.Commit(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		next := s.measure(b, m)
		if next.Layout.DataFiles != m.Layout.DataFiles+filesPerManifest {
			b.Fatal(next.Layout.DataFiles)
		}
		m = next
	}
	b.ReportMetric(float64(s.measurer.ManifestsRead()-read)/float64(b.N), "manifests-read/op")
}

// BenchmarkScrape refreshes small tables that have not changed.
func BenchmarkScrape(b *testing.B) {
	for _, tables := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("tables=%d", tables), func(b *testing.B) {
			root := b.TempDir()
			for i := range tables {
				t := &bench.Table{Directory: filepath.Join(root, "n", fmt.Sprintf("t%04d", i))}
				if err := t.Append(2); err != nil {
					b.Fatal(err)
				}
				if err := t.Commit(); err != nil {
					b.Fatal(err)
				}
			}
			c, err := config.Parse("bench", fmt.Appendf(nil, "{catalogs: [{name: c, type: hadoop, warehouse: %s}]}", root))
			if err != nil {
				b.Fatal(err)
			}
			fleet := refresh.NewFleet(refresh.Options{
				Measurer: measure.NewMeasurer(manifest.NewCache(256 << 20)), Counter: &fileio.Counter{}, Logger: log.NewNopLogger(), Now: time.Now,
			})
			fleet.Apply(c)
			defer func() { _ = fleet.Close(context.Background()) }()
			fleet.Refresh(b.Context())
			if n := len(fleet.Snapshot().Tables); n != tables {
				b.Fatal(n)
			}
			for b.Loop() {
				fleet.Refresh(b.Context())
			}
			if s := fleet.Stats(); s.Failed > 0 {
				b.Fatal(s)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N)/float64(tables), "us/table")
		})
	}
}
