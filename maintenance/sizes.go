package maintenance

import (
	"fmt"
	"iter"

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
func (s sizes) worthwhile(files int, bytes int64) bool {
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

// candidate is a file that its procedure selects, before the groups are judged.
type candidate struct {
	size int64
	// deletes is the size of the deletes that apply to this file alone.
	deletes int64
	// group is the number of the partition that the file is rewritten in.
	group int32
	// record and row are where the file is told.
	record, row int32
	splits      uint8
	// deleted is whether it is selected for its deletes, live whether a row of
	// it may be left.
	deleted, live bool
	// foreign is whether it is of another spec than the current one.
	foreign bool
}

// bins sorts candidates by group and packs each group into bins of at most
// maxGroupBytes, in the order that they came in. Of the bins, only the last is
// open (org.apache.iceberg.util.BinPacking with a lookback of 1).
func bins(candidates []candidate, groups int) iter.Seq[[]candidate] {
	return func(yield func([]candidate) bool) {
		next := make([]int, groups+1)
		for _, c := range candidates {
			next[c.group+1]++
		}
		for g := range groups {
			next[g+1] += next[g]
		}
		sorted := make([]candidate, len(candidates))
		for _, c := range candidates {
			sorted[next[c.group]] = c
			next[c.group]++
		}
		for begin := 0; begin < len(sorted); {
			end, bytes := begin, int64(0)
			for end < len(sorted) && sorted[end].group == sorted[begin].group &&
				(end == begin || bytes+sorted[end].size <= maxGroupBytes) {
				bytes += sorted[end].size
				end++
			}
			if !yield(sorted[begin:end]) {
				return
			}
			begin = end
		}
	}
}

func bytesOf(files []candidate) int64 {
	var total int64
	for _, f := range files {
		total += f.size
	}
	return total
}
