package maintenance_test

import (
	"fmt"
	"testing"

	"github.com/iceberg-exporter/iceberg_exporter/maintenance"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
)

// BenchmarkPredict predicts for a million files: of data alone, all of them
// small, and of as many data files as deletion vectors; and for a million data
// files with vectors for half of them. Vectors come in another order than their
// data files. Each manifest has files of 200 partitions.
func BenchmarkPredict(b *testing.B) {
	const perManifest, partitions = 2000, 20_000
	properties := map[string]string{"commit.manifest.target-size-bytes": "1000000"}
	for _, c := range []struct {
		name          string
		data, vectors int
	}{{"data", 1_000_000, 0}, {"vectors", 500_000, 500_000}, {"data+vectors", 1_000_000, 500_000}} {
		var s snapshot
		for at := 0; at < c.data+c.vectors; at += perManifest {
			entries := make([]any, perManifest)
			for i := range entries {
				f := file{path: fmt.Sprintf("s3://warehouse/table/data/%d", at+i), size: 1<<20 + int64(at+i)%1000, splits: []int64{4}}
				if at >= c.data {
					f.of, f.path = fmt.Sprintf("s3://warehouse/table/data/%d", (at+i-c.data)*7919%c.data), f.path+".puffin"
					f.kind, f.rows = manifest.DeletionVector, int64(at+i)%50
				}
				f.partition = day((at*31 + i%200) % partitions)
				entries[i] = values{"status": 1, "sequence_number": int64(at), "data_file": f.values()}
			}
			m := manifest.File{Length: perManifest * 150, SpecID: byDay, Counted: true, LiveFiles: perManifest}
			if at >= c.data {
				m.Content = manifest.Deletes
			}
			s.encoded(b, m, entries)
		}
		table := table(b, byDay, properties, values{"format-version": 3})
		for name, predict := range map[string]func(){
			"all":                   func() { maintenance.Predict(table, s.files, s.records) },
			"data_files":            func() { maintenance.RewriteDataFiles(table, s.records) },
			"position_delete_files": func() { maintenance.RewritePositionDeleteFiles(table, s.records) },
			"manifests":             func() { maintenance.RewriteManifests(table, s.files, s.records) },
		} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					predict()
				}
			})
		}
	}
}

// BenchmarkExpireSnapshots has a history of 100,000 commits with a thousand
// branches on it, each of which keeps all of it.
func BenchmarkExpireSnapshots(b *testing.B) {
	const commits = 100_000
	snapshots := make([]any, commits)
	refs := values{}
	for i := range snapshots {
		snapshots[i] = snap(i+1, i, float64(commits-i)/commits*4)
		if i%(commits/1000) == 0 {
			refs[fmt.Sprint(i)] = ref("branch", i+1, nil)
		}
	}
	table := table(b, whole, nil, values{"snapshots": snapshots, "refs": refs, "current-snapshot-id": commits})
	b.ReportAllocs()
	for b.Loop() {
		if got := maintenance.ExpireSnapshots(table, now); len(got.Snapshots) > 0 {
			b.Fatal(len(got.Snapshots))
		}
	}
}
