package maintenance_test

import (
	"strings"
	"testing"

	"github.com/iceberg-exporter/iceberg_exporter/maintenance"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
)

// With a target of 1,000,000 files are small below 750,000 and large above
// 1,800,000 bytes.

func of(target string) map[string]string {
	return map[string]string{"write.target-file-size-bytes": target}
}

func TestRewriteDataFiles(t *testing.T) {
	small, mid := file{size: 100_000, partition: day(1)}, file{size: 800_000, partition: day(1)}
	// sized are files of one partition.
	sized := func(sizes ...int64) (files []file) {
		for _, size := range sizes {
			files = append(files, file{size: size, partition: day(1)})
		}
		return files
	}
	type want struct{ files, bytes, groups, output int64 }
	for name, c := range map[string]struct {
		files []file
		want  want
	}{
		"no files":                  {},
		"one small":                 {sized(1), want{}},
		"one below 0.75 T":          {sized(749_999), want{}},
		"two that make T":           {sized(500_000, 500_000), want{}},
		"two that make more than T": {sized(500_000, 500_001), want{2, 1_000_001, 1, 1}},
		"four small":                {many(4, small), want{}},
		"five small":                {many(5, small), want{5, 500_000, 1, 1}},
		"six small":                 {many(6, small), want{6, 600_000, 1, 1}},
		"four small, one at 0.75 T": {append(many(4, small), file{size: 750_000, partition: day(1)}), want{}},
		"small ones of two partitions": {
			append(many(3, small), many(3, file{size: 100_000, partition: day(2)})...), want{},
		},
		"two groups":                     {append(many(5, small), many(6, file{size: 100_000, partition: day(nil)})...), want{11, 1_100_000, 2, 2}},
		"files of the right size":        {many(20, mid), want{}},
		"one at 1.8 T":                   {sized(1_800_000), want{}},
		"one above 1.8 T":                {[]file{{size: 1_800_001, partition: day(1), splits: []int64{4, 900_004}}}, want{1, 1_800_001, 1, 2}},
		"one above 1.8 T, one row group": {[]file{{size: 1_800_001, partition: day(1), splits: []int64{4}}}, want{1, 1_800_001, 1, 1}},
		"one above 1.8 T, unknown":       {sized(1_800_001), want{1, 1_800_001, 1, 2}},
		// Three are expected of ten of 0.3 T, but four of them fit in no task.
		"what does not pack": {many(10, file{size: 300_000, partition: day(1), splits: []int64{4}}), want{10, 3_000_000, 1, 4}},
		// Two are expected, of which each task may read 5 KiB more than half.
		"what packs in a little more": {
			[]file{{size: 600_000, partition: day(1), splits: []int64{4}}, {size: 408_000, partition: day(1), splits: []int64{4}}, {size: 600_000, partition: day(1), splits: []int64{4}}, {size: 400_000, partition: day(1), splits: []int64{4}}},
			want{4, 2_008_000, 1, 2},
		},
		// 1.09 T becomes one file, 1.3 T two: tasks of T.
		"a small rest is spread": {many(10, file{size: 109_000, partition: day(1), splits: []int64{4}}), want{10, 1_090_000, 1, 1}},
		"a large rest is not":    {many(10, file{size: 130_000, partition: day(1), splits: []int64{4}}), want{10, 1_300_000, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			var s snapshot
			s.manifest(t, byDay, c.files...)
			got := maintenance.RewriteDataFiles(table(t, byDay, of("1000000"), nil), s.records)
			w := maintenance.DataFileRewrite{Files: c.want.files, Bytes: c.want.bytes, Groups: c.want.groups, OutputFiles: c.want.output}
			if got != w {
				t.Errorf("got %+v, want %+v", got, w)
			}
		})
	}
}

func TestRewriteDataFilesTarget(t *testing.T) {
	var s snapshot
	// Just below 0.75 times the default target, in a group of five.
	s.manifest(t, whole, many(5, file{size: 402_653_183})...)
	for _, c := range []struct {
		properties map[string]string
		want       int64
	}{
		{nil, 5},
		{of("536870912"), 5},
		{of("536870911"), 0}, // 0.75 times this, rounded down, is the files' size.
		{of("200000000"), 5}, // Larger than 1.8 times this.
		{of("223696213"), 0},
	} {
		if got := maintenance.RewriteDataFiles(table(t, whole, c.properties, nil), s.records); got.Files != c.want || got.Refusal != "" {
			t.Errorf("%v: %+v", c.properties, got)
		}
	}
	empty := table(t, whole, of("512 MB"), values{"current-snapshot-id": nil, "snapshots": nil})
	if got := maintenance.RewriteDataFiles(empty, nil); got.Refusal != "" {
		t.Errorf("without a snapshot: %+v", got)
	}
	for _, property := range []string{"0", "1", "-5", "512 MB", "", "9223372036854775808"} {
		if got := maintenance.RewriteDataFiles(table(t, whole, of(property), nil), s.records); got.Files != 0 || !strings.Contains(got.Refusal, "write.target-file-size-bytes") {
			t.Errorf("%q: %+v", property, got)
		}
	}
}

// TestRewriteDataFilesSpecs: files of other specs share the group of the current
// spec's files whose partition values are null.
func TestRewriteDataFilesSpecs(t *testing.T) {
	small := int64(1000)
	for name, c := range map[string]struct {
		spec          int
		days, regions []file
		groups, files int64
	}{
		"other specs are one group":      {whole, many(2, file{size: small, partition: day(1)}), many(3, file{size: small, partition: values{"region": "x", "day": 2}}), 1, 5},
		"and join the nulls":             {byDay, many(2, file{size: small, partition: day(nil)}), many(3, file{size: small, partition: values{"region": "x", "day": 2}}), 1, 5},
		"but no value":                   {byDay, many(2, file{size: small, partition: day(2)}), many(3, file{size: small, partition: values{"region": "x", "day": 2}}), 0, 0},
		"all fields must be null":        {byRegionAndDay, many(2, file{size: small, partition: day(1)}), many(3, file{size: small, partition: values{"region": "x", "day": nil}}), 0, 0},
		"as they are here":               {byRegionAndDay, many(2, file{size: small, partition: day(1)}), many(3, file{size: small, partition: values{"region": nil, "day": nil}}), 1, 5},
		"an unpartitioned table is one":  {whole, many(5, file{size: small, partition: day(1)}), nil, 1, 5},
		"a partition is one of its spec": {byRegionAndDay, many(5, file{size: small, partition: day(1)}), many(5, file{size: small, partition: values{"region": "x", "day": 1}}), 2, 10},
	} {
		t.Run(name, func(t *testing.T) {
			var s snapshot
			s.manifest(t, byDay, c.days...)
			s.manifest(t, byRegionAndDay, c.regions...)
			got := maintenance.RewriteDataFiles(table(t, c.spec, of("1000000"), nil), s.records)
			if got.Groups != c.groups || got.Files != c.files || got.OutputFiles != c.groups {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestRewriteDataFilesBins: groups are packed into bins of 100 GiB in order.
func TestRewriteDataFilesBins(t *testing.T) {
	const gib = 1 << 30
	large := map[string]string{"write.target-file-size-bytes": "214748364800"} // 200 GiB
	for name, c := range map[string]struct {
		sizes         []int64
		groups, files int64
	}{
		"100 GiB fit":                  {[]int64{20 * gib, 20 * gib, 20 * gib, 20 * gib, 20 * gib}, 1, 5},
		"more do not":                  {[]int64{20 * gib, 20 * gib, 20 * gib, 20 * gib, 20*gib + 1}, 0, 0},
		"what came later stays out":    {[]int64{90 * gib, 20 * gib, 1, 1, 1, 1}, 1, 5},
		"a closed bin is not filled":   {[]int64{1, 1, 1, 1, 100 * gib, 1}, 0, 0},
		"one file may exceed the bin":  {[]int64{120 * gib, 1, 1, 1, 1, 1}, 1, 5},
		"two bins are two file groups": {[]int64{60 * gib, 1, 1, 1, 1, 60 * gib, 1, 1, 1, 1}, 2, 10},
	} {
		t.Run(name, func(t *testing.T) {
			var s snapshot
			for _, size := range c.sizes {
				s.manifest(t, whole, file{size: size})
			}
			got := maintenance.RewriteDataFiles(table(t, whole, large, nil), s.records)
			if got.Groups != c.groups || got.Files != c.files {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestRewriteDataFilesDeletes(t *testing.T) {
	const (
		positions  = manifest.PositionDeletes
		equalities = manifest.EqualityDeletes
		vector     = manifest.DeletionVector
	)
	// A well-sized file of 100 rows, committed at 5.
	data := file{path: "a", size: 800_000, rows: 100, partition: day(1), sequence: 5, splits: []int64{4}}
	for name, c := range map[string]struct {
		deletes []file
		rewrite bool
		output  int64
	}{
		"29%":                              {[]file{{kind: positions, of: "a", rows: 29, sequence: 6}}, false, 0},
		"30%":                              {[]file{{kind: positions, of: "a", rows: 30, sequence: 6}}, true, 1},
		"31%":                              {[]file{{kind: positions, of: "a", rows: 31, sequence: 6}}, true, 1},
		"30% in two files":                 {[]file{{kind: positions, of: "a", rows: 29, sequence: 6}, {kind: positions, of: "a", rows: 1, sequence: 7}}, true, 1},
		"of the same commit":               {[]file{{kind: positions, of: "a", rows: 30, sequence: 5}}, true, 1},
		"of an older commit":               {[]file{{kind: positions, of: "a", rows: 30, sequence: 4}}, false, 0},
		"in part of an older commit":       {[]file{{kind: positions, of: "a", rows: 29, sequence: 4}, {kind: positions, of: "a", rows: 29, sequence: 5}}, false, 0},
		"of another file":                  {[]file{{kind: positions, of: "b", rows: 30, sequence: 6}}, false, 0},
		"of the partition":                 {[]file{{kind: positions, rows: 100, sequence: 6}}, false, 0},
		"of equality":                      {[]file{{kind: equalities, rows: 100, sequence: 6}}, false, 0},
		"a vector of 29%":                  {[]file{{kind: vector, of: "a", rows: 29, sequence: 6}}, false, 0},
		"a vector of 30%":                  {[]file{{kind: vector, of: "a", rows: 30, sequence: 6}}, true, 1},
		"a vector replaces position files": {[]file{{kind: positions, of: "a", rows: 50, sequence: 6}, {kind: vector, of: "a", rows: 29, sequence: 7}}, false, 0},
		"all rows":                         {[]file{{kind: positions, of: "a", rows: 100, sequence: 6}}, true, 0},
		"more deletes than rows":           {[]file{{kind: positions, of: "a", rows: 200, sequence: 6}}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range c.deletes {
				c.deletes[i].partition = day(1)
			}
			var s snapshot
			s.manifest(t, byDay, data)
			s.manifest(t, byDay, c.deletes...)
			got := maintenance.RewriteDataFiles(table(t, byDay, of("1000000"), nil), s.records)
			if (got.Files == 1) != c.rewrite || got.Files != got.Groups || got.OutputFiles != c.output {
				t.Errorf("got %+v", got)
			}
		})
	}
	t.Run("no rows have no ratio", func(t *testing.T) {
		var s snapshot
		empty := data
		empty.rows = -1
		s.manifest(t, byDay, empty)
		s.manifest(t, byDay, file{kind: positions, of: "a", rows: 30, sequence: 6, partition: day(1)})
		if got := maintenance.RewriteDataFiles(table(t, byDay, of("1000000"), nil), s.records); got.Files != 0 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a file for its deletes takes its group along", func(t *testing.T) {
		var s snapshot
		s.manifest(t, byDay, data, file{size: 10, partition: day(1)}, file{size: 10, partition: day(2)})
		s.manifest(t, byDay, file{kind: positions, of: "a", rows: 30, sequence: 6, partition: day(1)})
		if got := maintenance.RewriteDataFiles(table(t, byDay, of("1000000"), nil), s.records); got.Files != 2 || got.Groups != 1 {
			t.Errorf("got %+v", got)
		}
	})
}

// TestRewriteDataFilesDeleteBytes: a task reads the deletes of its files too, and
// has room for fewer files then.
func TestRewriteDataFilesDeleteBytes(t *testing.T) {
	for name, c := range map[string]struct {
		spec    int
		deletes []file
		output  int64
	}{
		"none":                           {byDay, nil, 1},
		"equality deletes":               {byDay, []file{{kind: manifest.EqualityDeletes, partition: day(1), size: 400_000, sequence: 6}}, 3},
		"two of them":                    {byDay, []file{{kind: manifest.EqualityDeletes, partition: day(1), size: 200_000, sequence: 6}, {kind: manifest.EqualityDeletes, partition: day(1), size: 200_000, sequence: 9}}, 3},
		"equality deletes of the commit": {byDay, []file{{kind: manifest.EqualityDeletes, partition: day(1), size: 400_000, sequence: 5}}, 1},
		"of another partition":           {byDay, []file{{kind: manifest.EqualityDeletes, partition: day(2), size: 400_000, sequence: 6}}, 1},
		"of all partitions":              {whole, []file{{kind: manifest.EqualityDeletes, size: 400_000, sequence: 6}}, 3},
		"position deletes of the commit": {byDay, []file{{kind: manifest.PositionDeletes, partition: day(1), size: 400_000, sequence: 5}}, 3},
		"older position deletes":         {byDay, []file{{kind: manifest.PositionDeletes, partition: day(1), size: 400_000, sequence: 4}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var s snapshot
			s.manifest(t, byDay, many(5, file{size: 100_000, partition: day(1), sequence: 5, splits: []int64{4}})...)
			s.manifest(t, c.spec, c.deletes...)
			if got := maintenance.RewriteDataFiles(table(t, byDay, of("1000000"), nil), s.records); got.Files != 5 || got.OutputFiles != c.output {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestRewriteDataFilesLookback: tasks stay open until there are too many.
func TestRewriteDataFilesLookback(t *testing.T) {
	for lookback, want := range map[string]int64{"10": 2, "2": 2, "1": 3} {
		var s snapshot
		for _, size := range []int64{700_000, 700_000, 300_000, 300_000} {
			s.manifest(t, whole, file{size: size, splits: []int64{4}})
		}
		properties := of("1000000")
		properties["read.split.planning-lookback"] = lookback
		if got := maintenance.RewriteDataFiles(table(t, whole, properties, nil), s.records); got.Files != 4 || got.OutputFiles != want {
			t.Errorf("%s: %+v", lookback, got)
		}
	}
	// A wrong one does not matter while there is nothing to read.
	for _, lookback := range []string{"0", "ten"} {
		var s snapshot
		s.manifest(t, whole, many(4, file{size: 1})...)
		properties := map[string]string{"read.split.planning-lookback": lookback}
		if got := maintenance.RewriteDataFiles(table(t, whole, properties, nil), s.records); got.Refusal != "" {
			t.Errorf("got %+v", got)
		}
		s.manifest(t, whole, file{size: 1})
		if got := maintenance.RewriteDataFiles(table(t, whole, properties, nil), s.records); got.Refusal == "" || got.Files != 0 {
			t.Errorf("got %+v", got)
		}
	}
}
