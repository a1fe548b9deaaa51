package maintenance_test

import (
	"testing"

	"github.com/iceberg-exporter/iceberg_exporter/maintenance"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
)

func TestRewritePositionDeleteFiles(t *testing.T) {
	small := file{kind: manifest.PositionDeletes, size: 1000, partition: day(1)}
	of := func(f file, partition values) file {
		f.partition = partition
		return f
	}
	vector := file{kind: manifest.DeletionVector, of: "a", size: 40, partition: day(1)}
	type want struct{ files, bytes, groups int64 }
	for name, c := range map[string]struct {
		version int
		days    []file
		regions []file
		want    want
	}{
		"none":                        {2, nil, nil, want{}},
		"four small":                  {2, many(4, small), nil, want{}},
		"five small":                  {2, many(5, small), nil, want{5, 5000, 1}},
		"equality deletes are none":   {2, append(many(4, small), file{kind: manifest.EqualityDeletes, size: 1000, partition: day(1)}), nil, want{}},
		"two that make more than T":   {2, []file{{kind: manifest.PositionDeletes, size: 60_000, partition: day(1)}, {kind: manifest.PositionDeletes, size: 40_001, partition: day(1)}}, nil, want{2, 100_001, 1}},
		"well-sized":                  {2, many(9, file{kind: manifest.PositionDeletes, size: 75_000, partition: day(1)}), nil, want{}},
		"one above 1.8 T":             {2, []file{{kind: manifest.PositionDeletes, size: 180_001, partition: day(1)}}, nil, want{1, 180_001, 1}},
		"one at 1.8 T":                {2, []file{{kind: manifest.PositionDeletes, size: 180_000, partition: day(1)}}, nil, want{}},
		"of two partitions":           {2, append(many(3, small), many(3, of(small, day(2)))...), nil, want{}},
		"a value that one spec lacks": {2, many(2, small), many(3, of(small, values{"region": "x", "day": 1})), want{}},
		"swapped values are others":   {2, many(2, small), many(3, of(small, values{"region": "1", "day": nil})), want{}},
		"vectors":                     {3, many(9, vector), nil, want{}},
		"vectors beside a file":       {3, append(many(4, vector), small), nil, want{5, 1160, 1}},
		"files in v3":                 {3, many(5, small), nil, want{5, 5000, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var s snapshot
			s.manifest(t, byDay, many(5, file{size: 1, partition: day(1)})...)
			for spec, files := range map[int][]file{byDay: c.days, byRegionAndDay: c.regions} {
				if files != nil {
					s.manifest(t, spec, files...)
				}
			}
			properties := map[string]string{"write.delete.target-file-size-bytes": "100000"}
			got := maintenance.RewritePositionDeleteFiles(table(t, byDay, properties, values{"format-version": c.version}), s.records)
			if want := (maintenance.PositionDeleteFileRewrite{Files: c.want.files, Bytes: c.want.bytes, Groups: c.want.groups}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
	t.Run("a group of two specs cannot be written", func(t *testing.T) {
		for name, c := range map[string]struct{ days, regions values }{
			"values": {day(1), values{"region": nil, "day": 1}},
			"nulls":  {day(nil), values{"region": nil, "day": nil}},
		} {
			for more, refuses := range map[int]bool{2: false, 3: true} {
				var s snapshot
				s.manifest(t, byDay, many(2, of(small, c.days))...)
				s.manifest(t, byRegionAndDay, many(more, of(small, c.regions))...)
				got := maintenance.RewritePositionDeleteFiles(table(t, byDay, nil, nil), s.records)
				if refuses != (got.Refusal != "") || got.Files != 0 {
					t.Errorf("%s, %d: %+v", name, more, got)
				}
			}
		}
	})
	t.Run("a partition of a dropped column cannot be written", func(t *testing.T) {
		columns := values{"schemas": []any{values{"schema-id": 0, "fields": []any{values{"id": 2, "type": "string"}}}}, "current-schema-id": 0}
		for more, refuses := range map[int]bool{2: false, 3: true} {
			var s snapshot
			s.manifest(t, byDay, append(many(2, small), many(more, of(small, day(2)))...)...)
			got := maintenance.RewritePositionDeleteFiles(table(t, whole, nil, columns), s.records)
			if refuses != (got.Refusal != "") || got.Files != 0 {
				t.Errorf("%d: %+v", more, got)
			}
		}
	})
	t.Run("the default target is 64 MiB", func(t *testing.T) {
		for size, want := range map[int64]int64{50_331_647: 5, 50_331_648: 0, 120_795_955: 0, 120_795_956: 5} {
			var s snapshot
			s.manifest(t, byDay, many(5, file{kind: manifest.PositionDeletes, size: size, partition: day(1)})...)
			if got := maintenance.RewritePositionDeleteFiles(table(t, byDay, nil, nil), s.records); got.Files != want {
				t.Errorf("%d: %+v", size, got)
			}
		}
	})
	properties := map[string]string{"write.delete.target-file-size-bytes": "64 MB"}
	if got := maintenance.RewritePositionDeleteFiles(table(t, byDay, properties, nil), nil); got.Refusal == "" {
		t.Errorf("got %+v", got)
	}
}
