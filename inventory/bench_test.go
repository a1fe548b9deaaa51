package inventory_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/inventory"
)

// BenchmarkWalk reads a report of a bucket whose objects belong to a table, or to
// others.
func BenchmarkWalk(b *testing.B) {
	const rows = 200_000
	var objects []object
	for i := range rows {
		objects = append(objects, object{
			key:  fmt.Sprintf("warehouse/db/t/data/day=2026-11-%02d/00000-%d-1d3c2f0a-0000-4c1e-9a52-%012d-0-00001.parquet", i%30+1, i, i*7919),
			size: int64(i) * 1013, modified: noon.Add(time.Duration(i) * time.Second),
		})
	}
	stores := map[string]store{"CSV": {}, "Parquet": {}}
	stores["CSV"].publish(manifestAt, stores["CSV"].report("CSV", versionCSV, csvFile(objects, true)))
	stores["Parquet"].publish(manifestAt, stores["Parquet"].report("Parquet", "", parquetFile(b, parquetColumns(true), 1<<20, objects)))
	for _, format := range []string{"CSV", "Parquet"} {
		for _, c := range []struct {
			name, directory string
			want            int
		}{{"own", "s3://lake/warehouse/db/t", rows}, {"others", "s3://lake/warehouse/db/u", 0}} {
			b.Run(format+"/"+c.name, func(b *testing.B) {
				report, err := inventory.Open(b.Context(), stores[format], configured)
				if err != nil {
					b.Fatal(err)
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				for b.Loop() {
					seen := 0
					err := report.Walk(b.Context(), c.directory, func(infos []fileio.Info) error {
						seen += len(infos)
						return nil
					})
					if err != nil || seen != c.want {
						b.Fatal(seen, err)
					}
				}
				runtime.ReadMemStats(&after)
				read := float64(b.N) * rows
				b.ReportMetric(read/b.Elapsed().Seconds(), "rows/s")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/read, "B/row")
			})
		}
	}
}
