package maintenance

import (
	"fmt"

	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// Default options of rewrites by size
// (org.apache.iceberg.actions.SizeBasedFileRewritePlanner).
const (
	minSizeRatio  = 0.75
	maxSizeRatio  = 1.8
	minInputFiles = 5
	maxGroupBytes = 100 << 30
	splitOverhead = 5 << 10
)

// sizes are the bounds that files and groups of files are judged by
// (SizeBasedFileRewritePlanner.sizeThresholds).
type sizes struct {
	target, min, max int64
}

// sizesOf derives the bounds from the property that tells a target size.
func sizesOf(table *metadata.Table, name string, byDefault int64) (sizes, error) {
	target, err := property(table, name, byDefault, 64)
	if err != nil {
		return sizes{}, err
	}
	s := sizes{target: target, min: toLong(float64(target) * minSizeRatio), max: toLong(float64(target) * maxSizeRatio)}
	if s.target <= 0 || s.target >= s.max {
		return sizes{}, fmt.Errorf("the table property %s is %d, which leaves no room for files", name, target)
	}
	return s, nil
}

// misfit reports whether a file is to be rewritten for its size
// (SizeBasedFileRewritePlanner.outsideDesiredFileSizeRange).
func (s sizes) misfit(size int64) bool { return size < s.min || size > s.max }

// worthwhile reports whether a group of misfits is to be rewritten
// (enoughInputFiles, enoughContent and tooMuchContent). One lone small file
// never is, one lone oversized file always.
func (s sizes) worthwhile(files, bytes int64) bool {
	return files > 1 && (files >= minInputFiles || bytes > s.target) || bytes > s.max
}

// expectedOutput is the number of files that the engine expects to write for a
// group (expectedOutputFiles). It rounds down where that makes files at most
// 10% larger than the target.
func (s sizes) expectedOutput(bytes int64) int64 {
	if bytes < s.target {
		return 1
	}
	down, remainder := bytes/s.target, bytes%s.target
	up := down
	if remainder > 0 {
		up++
	}
	if remainder <= s.min && float64(bytes/down) < min(1.1*float64(s.target), float64(s.writeMax())) {
		return down
	}
	return up
}

// split is how many bytes of a group one task reads (inputSplitSize). Each task
// writes one file.
func (s sizes) split(bytes int64) int64 {
	estimate := bytes/s.expectedOutput(bytes) + splitOverhead
	if estimate < s.target {
		return s.target
	}
	return min(estimate, s.writeMax())
}

// writeMax is the size at which a task begins another file (writeMaxFileSize).
func (s sizes) writeMax() int64 { return toLong(float64(s.target) + float64(s.max-s.target)*0.5) }

// bins packs the files of each group into bins of at most maxGroupBytes, in the
// order that they come in. Of a group's bins, only the last is open
// (org.apache.iceberg.util.BinPacking with a lookback of 1).
//
// Bins are numbered as they are met, so the same files in the same order come
// into the same bins again. Nothing is kept of a file, of which there may be
// millions.
type bins struct {
	all []bin
	// open has the number of each group's last bin, and one more.
	open []int32
}

type bin struct {
	group        int32
	files, bytes int64
	// spec is that of the first file. other is another that a file is of, or
	// the same.
	spec, other int
	// deleted is whether a file is selected for its deletes.
	deleted bool
}

// add puts a file into a bin, and returns the bin's number.
func (b *bins) add(group int32, size int64, spec int) int32 {
	if more := int(group) + 1 - len(b.open); more > 0 {
		b.open = append(b.open, make([]int32, more)...)
	}
	number := b.open[group] - 1
	if number < 0 || b.all[number].bytes+size > maxGroupBytes {
		number = int32(len(b.all))
		b.all = append(b.all, bin{group: group, spec: spec, other: spec})
		b.open[group] = number + 1
	}
	bin := &b.all[number]
	bin.files++
	bin.bytes += size
	if bin.other == bin.spec {
		bin.other = spec
	}
	return number
}

// hasOther reports whether a file is of another spec than this one.
func (b bin) hasOther(spec int) bool { return b.spec != spec || b.other != spec }
