package manifest_test

import (
	"bytes"
	"testing"

	"github.com/iceberg-exporter/iceberg_exporter/bench"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/manifest/manifesttest"
)

// BenchmarkManifest compares reading a manifest of 1,000 files, with statistics
// for 30 columns, with only inflating it.
func BenchmarkManifest(b *testing.B) {
	const files = 1000
	content, err := bench.Manifest(1, files)
	if err != nil {
		b.Fatal(err)
	}
	run := func(name string, do func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*files/b.Elapsed().Seconds(), "files/s")
		})
	}
	run("read", func() error {
		record, err := manifest.ReadRecord(bytes.NewReader(content), manifest.File{}, manifesttest.Files{})
		if err == nil && record.Len() != files {
			b.Fatal(record.Len())
		}
		return err
	})
	run("inflate", func() error {
		_, err := manifest.Inflate(bytes.NewReader(content), manifest.File{})
		return err
	})
}
