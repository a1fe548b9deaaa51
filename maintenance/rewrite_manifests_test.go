package maintenance_test

import (
	"fmt"
	"testing"

	"github.com/iceberg-exporter/iceberg_exporter/maintenance"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
)

type manifests = maintenance.Manifests

func TestRewriteManifests(t *testing.T) {
	// inManifests puts files of these days in manifests of this many, which are
	// of 1000 bytes and 100 for each file.
	inManifests := func(each int, days ...int) func(*testing.T, *snapshot) {
		return func(t *testing.T, s *snapshot) {
			var files []file
			for _, d := range days {
				files = append(files, file{size: 1, partition: day(d)})
			}
			for len(files) > 0 {
				s.manifest(t, byDay, files[:each]...)
				files = files[each:]
			}
		}
	}
	repeated := func(count int, days ...int) (all []int) {
		for range count {
			all = append(all, days...)
		}
		return all
	}
	for name, c := range map[string]struct {
		target string
		spec   int
		add    func(*testing.T, *snapshot)
		want   maintenance.ManifestRewrite
	}{
		"none":                    {"2000", byDay, func(*testing.T, *snapshot) {}, maintenance.ManifestRewrite{}},
		"one":                     {"2000", byDay, inManifests(10, repeated(5, 1, 2)...), maintenance.ManifestRewrite{}},
		"one, larger":             {"1999", byDay, inManifests(10, repeated(5, 1, 2)...), maintenance.ManifestRewrite{Data: manifests{1, 2}}},
		"two":                     {"4000", byDay, inManifests(10, repeated(10, 1, 2)...), maintenance.ManifestRewrite{Data: manifests{2, 1}}},
		"two, larger":             {"3999", byDay, inManifests(10, repeated(10, 1, 2)...), maintenance.ManifestRewrite{Data: manifests{2, 2}}},
		"a partition is no range": {"400", byDay, inManifests(10, repeated(20, 1)...), maintenance.ManifestRewrite{Data: manifests{2, 1}}},
		"fewer ranges":            {"1000", byDay, inManifests(10, repeated(10, 1, 2)...), maintenance.ManifestRewrite{Data: manifests{2, 2}}},
		"even ranges":             {"1000", byDay, inManifests(10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20), maintenance.ManifestRewrite{Data: manifests{2, 4}}},
		// The large partition fills the shares of two ranges, but ends only one.
		"a large first partition": {"1400", byDay, inManifests(10, append(repeated(16, 1), 2, 3, 4, 5)...), maintenance.ManifestRewrite{Data: manifests{2, 3}}},
		"and one other":           {"1400", byDay, inManifests(10, append(repeated(16, 1), 2, 2, 2, 2)...), maintenance.ManifestRewrite{Data: manifests{2, 2}}},
		"a large last partition":  {"1400", byDay, inManifests(10, append(repeated(16, 9), 2, 3, 4, 5)...), maintenance.ManifestRewrite{Data: manifests{2, 1}}},
		"fewer files than ranges": {"100", byDay, inManifests(1, 1, 2), maintenance.ManifestRewrite{Data: manifests{2, 2}}},
		"other specs stay":        {"100", whole, inManifests(10, repeated(10, 1, 2)...), maintenance.ManifestRewrite{}},
		"shares of an unpartitioned table": {"500", whole, func(t *testing.T, s *snapshot) {
			s.manifest(t, whole, many(10, file{size: 1})...)
		}, maintenance.ManifestRewrite{Data: manifests{1, 4}}},
		"deletes apart": {"4000", byDay, func(t *testing.T, s *snapshot) {
			inManifests(10, repeated(10, 1, 2)...)(t, s)
			s.manifest(t, byDay, many(3, file{kind: manifest.PositionDeletes, size: 1, partition: day(1)})...)
		}, maintenance.ManifestRewrite{Data: manifests{2, 1}}},
		"deletes too": {"4000", byDay, func(t *testing.T, s *snapshot) {
			for range 3 {
				s.manifest(t, byDay, many(3, file{kind: manifest.EqualityDeletes, size: 1, partition: day(1)})...)
			}
		}, maintenance.ManifestRewrite{Deletes: manifests{3, 1}}},
		"decimals are ordered as numbers": {"1500", byAmount, func(t *testing.T, s *snapshot) {
			// In the order of numbers -1.28, 0, 1.27 and 2.56 are a partition each of
			// 8, 2, 2 and 8 files: the ranges become two.
			for unscaled, count := range map[string]int{"\x80": 8, "\x00": 2, "\x7f": 2, "\x01\x00": 8} {
				s.manifest(t, byAmount, many(count, file{size: 1, partition: values{"amount": []byte(unscaled)}})...)
			}
		}, maintenance.ManifestRewrite{Data: manifests{4, 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			var s snapshot
			c.add(t, &s)
			properties := map[string]string{"commit.manifest.target-size-bytes": c.target}
			if got := maintenance.RewriteManifests(table(t, c.spec, properties, nil), s.files, s.records); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestRewriteManifestsRolls: one partition is one range, but not one manifest.
func TestRewriteManifestsRolls(t *testing.T) {
	var s snapshot
	s.manifest(t, byDay, many(1000, file{size: 1, partition: day(1)})...)
	s.manifest(t, byDay, many(2000, file{size: 1, partition: day(1)})...)
	header := s.records[0].HeaderBytes
	for i, count := range []int64{1000, 2000} {
		s.files[i].Length = header + 100*count
	}
	// After each 250 files, which take 25,000 bytes, there may be enough for a
	// manifest of 1.2 times the target.
	for size, want := range map[int64]int64{header + 50_000: 6, header + 50_002: 4, 400_000: 1, header + 25_000: 12, 1: 12} {
		properties := map[string]string{"commit.manifest.target-size-bytes": fmt.Sprint((size*10 + 11) / 12)}
		if got := maintenance.RewriteManifests(table(t, byDay, properties, nil), s.files, s.records); got.Data != (manifests{2, want}) {
			t.Errorf("%d: got %+v, want %d", size, got, want)
		}
	}
}

func TestRewriteManifestsRefusal(t *testing.T) {
	var s snapshot
	s.manifest(t, byDay, many(3, file{size: 1, partition: day(1)})...)
	for _, target := range []string{"0", "-1", "8 MB"} {
		properties := map[string]string{"commit.manifest.target-size-bytes": target}
		if got := maintenance.RewriteManifests(table(t, byDay, properties, nil), s.files, s.records); got.Refusal == "" || got.Data.Rewritable != 0 {
			t.Errorf("%q: %+v", target, got)
		}
	}
	s.files[0].Counted = false
	if got := maintenance.RewriteManifests(table(t, byDay, nil, nil), s.files, s.records); got.Refusal == "" {
		t.Errorf("without counts: %+v", got)
	}
	if got := maintenance.RewriteManifests(table(t, whole, nil, nil), s.files, s.records); got.Refusal != "" {
		t.Errorf("without counts, of another spec: %+v", got)
	}
}
