package maintenance

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// ManifestRewrite is what rewrite_manifests would do.
type ManifestRewrite struct {
	Data, Deletes Manifests
	// Refusal is why it would fail instead, and empty where it would not.
	Refusal string
}

// Manifests are the manifests of one content that would be read, and those that
// would be written instead.
type Manifests struct {
	Rewritable, Output int64
}

const (
	targetManifestSizeProperty = "commit.manifest.target-size-bytes"
	defaultTargetManifestSize  = 8_388_608
	// maxManifestRatio is how much larger than the target a manifest may get.
	maxManifestRatio = 1.2
	// rowsDivisor is after how many files a manifest's size is looked at
	// (org.apache.iceberg.RollingManifestWriter).
	rowsDivisor = 250
)

// RewriteManifests predicts rewrite_manifests, for the manifests of the current
// snapshot and, in the same order, their records.
//
// The rules of org.apache.iceberg.spark.actions.RewriteManifestsSparkAction:
//   - Only manifests of the current spec are rewritten; those of data files and
//     those of delete files apart. A lone one is left alone, unless it is larger
//     than the target size.
//   - It fails where a manifest list does not tell how many files a manifest
//     has, as old v1 lists do not.
//
// What is written is not ceil(bytes / target) manifests, as that number is only
// how many ranges of partition values, or shares of the files in an
// unpartitioned table, are asked of Spark. A partition is never divided between
// ranges, so there may be fewer; and a range that is written to more than 1.2
// times the target becomes several manifests. How many bytes a file will take
// is estimated, so where large partitions make uneven ranges the number of
// manifests is an estimate too.
func RewriteManifests(table *metadata.Table, manifests []manifest.File, records []*manifest.Record) ManifestRewrite {
	return rewriteManifests(table, manifests, records, newPartitions(table, records))
}

func rewriteManifests(table *metadata.Table, manifests []manifest.File, records []*manifest.Record, partitions *partitions) ManifestRewrite {
	target, err := property(table, targetManifestSizeProperty, defaultTargetManifestSize, 64)
	if err != nil {
		return ManifestRewrite{Refusal: err.Error()}
	}
	var plan ManifestRewrite
	for content, to := range map[manifest.Content]*Manifests{manifest.Data: &plan.Data, manifest.Deletes: &plan.Deletes} {
		p := &manifestPlanner{target: target, partitions: partitions}
		for i, file := range manifests {
			if file.Content != content || records[i].SpecID != table.DefaultSpecID {
				continue
			}
			if !file.Counted {
				return ManifestRewrite{Refusal: fmt.Sprintf("the manifest list does not count the files of the manifest %s", file.Path)}
			}
			p.add(i, file)
		}
		if len(p.matching) > 0 && target <= 0 {
			return ManifestRewrite{Refusal: fmt.Sprintf("the table property %s is %d", targetManifestSizeProperty, target)}
		}
		*to = p.plan()
	}
	return plan
}

// manifestPlanner plans the rewrite of manifests of one content.
type manifestPlanner struct {
	target     int64
	partitions *partitions

	matching []int
	bytes    int64
	headers  int64
	live     int64
	entries  int64
}

func (p *manifestPlanner) add(index int, file manifest.File) {
	p.matching = append(p.matching, index)
	p.bytes += file.Length
	p.headers += p.partitions.records[index].HeaderBytes
	p.live += file.LiveFiles
	p.entries += file.LiveFiles + file.DeletedFiles
}

func (p *manifestPlanner) plan() Manifests {
	count := int64(len(p.matching))
	if count == 0 {
		return Manifests{}
	}
	ranges := p.bytes / p.target
	if p.bytes%p.target > 0 {
		ranges++
	}
	if count == 1 && ranges == 1 {
		return Manifests{}
	}
	return Manifests{Rewritable: count, Output: p.output(ranges)}
}

// output is how many manifests are written when this many ranges are asked for.
func (p *manifestPlanner) output(ranges int64) int64 {
	ranges = min(ranges, p.live)
	if ranges <= 1 || !p.partitions.spec.IsPartitioned() {
		return ranges
	}
	counts := p.counts()
	share := float64(p.live) / float64(ranges)
	if largest := slices.Max(counts); float64(largest) <= share*(maxManifestRatio-1) {
		// No partition is large enough to make the ranges uneven.
		return ranges
	}
	return p.rangeOutput(counts, share, ranges)
}

// counts are the live files of each partition, by its number.
func (p *manifestPlanner) counts() []int64 {
	counts := make([]int64, len(p.partitions.numbers))
	for _, index := range p.matching {
		numbers := p.partitions.of(index)
		if more := len(p.partitions.numbers) - len(counts); more > 0 {
			counts = append(counts, make([]int64, more)...) //nolint:makezero // Partitions are numbered as they are met.
		}
		r := p.partitions.records[index]
		for row := range r.Len() {
			counts[numbers[r.PartitionAt(row)]]++
		}
	}
	return counts
}

// rangeOutput divides the partitions into ranges as org.apache.spark.RangePartitioner
// does, and each range into manifests. A range ends with the partition that
// makes its share full. Spark looks at a sample of the files only when there
// are many.
func (p *manifestPlanner) rangeOutput(counts []int64, share float64, ranges int64) int64 {
	var written, inRange, seen, closed int64
	full := share
	for _, number := range p.ordered(counts) {
		inRange += counts[number]
		seen += counts[number]
		if closed < ranges-1 && float64(seen) >= full {
			written += p.manifests(inRange)
			inRange = 0
			closed++
			full += share
		}
	}
	return written + p.manifests(inRange)
}

// manifests is how many manifests a task writes for this many files. It takes
// entries and headers to be as large as they are on average.
func (p *manifestPlanner) manifests(files int64) int64 {
	header := float64(p.headers) / float64(len(p.matching))
	entry := max(1, float64(p.bytes-p.headers)/float64(p.entries))
	room := math.Floor(maxManifestRatio*float64(p.target)) - header
	perManifest := rowsDivisor * max(1, math.Ceil(room/(rowsDivisor*entry)))
	return int64(math.Ceil(float64(files) / perManifest))
}

// ordered are the numbers of the partitions that have files, in the order that
// Spark sorts partition values in: field by field, by field id.
func (p *manifestPlanner) ordered(counts []int64) []int32 {
	fields := p.partitions.records[p.matching[0]].PartitionFields
	order := make([]int, len(fields))
	for i := range order {
		order[i] = i
	}
	ids := fieldIDs(p.partitions.table, p.partitions.records[p.matching[0]])
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ids[a], ids[b]) })

	values := make([][]any, len(counts))
	var numbers []int32
	for tuple, number := range p.partitions.numbers {
		if int(number) < len(counts) && counts[number] > 0 {
			values[number] = tuple.Values()
			numbers = append(numbers, number)
		}
	}
	slices.SortFunc(numbers, func(a, b int32) int {
		for _, i := range order {
			if c := compareValues(values[a][i], values[b][i], fields[i].LogicalType == "decimal"); c != 0 {
				return c
			}
		}
		return 0
	})
	return numbers
}

// compareValues compares two values of a partition field. null comes first, and
// NaN last.
func compareValues(a, b any, decimal bool) int {
	if a == nil || b == nil {
		return cmp.Compare(boolean(a != nil), boolean(b != nil))
	}
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case float64:
		b := b.(float64)
		return cmp.Or(cmp.Compare(boolean(math.IsNaN(a)), boolean(math.IsNaN(b))), cmp.Compare(a, b))
	case bool:
		return cmp.Compare(boolean(a), boolean(b.(bool)))
	case string:
		return strings.Compare(a, b.(string))
	case []byte:
		if decimal {
			return compareDecimals(a, b.([]byte))
		}
		return bytes.Compare(a, b.([]byte))
	default:
		return 0
	}
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compareDecimals compares big-endian numbers in two's complement that have no
// byte more than they need.
func compareDecimals(a, b []byte) int {
	negative := func(n []byte) bool { return len(n) > 0 && n[0] >= 0x80 }
	if negative(a) != negative(b) {
		return cmp.Compare(boolean(!negative(a)), boolean(!negative(b)))
	}
	longer := cmp.Compare(len(a), len(b))
	if negative(a) {
		longer = -longer
	}
	return cmp.Or(longer, bytes.Compare(a, b))
}
