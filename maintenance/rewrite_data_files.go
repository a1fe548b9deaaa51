package maintenance

import (
	"fmt"
	"slices"

	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// DataFileRewrite is what rewrite_data_files would do.
type DataFileRewrite struct {
	// Files and Bytes are of the data files that it would rewrite, in Groups
	// groups.
	Files, Bytes, Groups int64
	// OutputFiles is how many files it would write instead.
	OutputFiles int64
	// Refusal is why it would fail instead, and empty where it would not.
	Refusal string
}

const (
	targetFileSizeProperty = "write.target-file-size-bytes"
	defaultTargetFileSize  = 536_870_912
	lookbackProperty       = "read.split.planning-lookback"
	defaultLookback        = 10
	// deleteRatio is the share of deleted rows from which a file is rewritten.
	deleteRatio = 0.3
)

// RewriteDataFiles predicts rewrite_data_files with the bin-pack strategy, for
// the records of the current snapshot's manifests. Sort and z-order select the
// same files.
//
// The rules of org.apache.iceberg.actions.BinPackRewriteFilePlanner:
//   - A data file is selected when it is smaller than 0.75 or larger than 1.8
//     times the target size, or when 30% of its rows are deleted. Only deletes
//     that are known to apply to this very file count. The rule for a number of
//     delete files is off by default.
//   - Files are grouped by their partition value of the current spec. Files of
//     other specs count as of the partition whose values are all null, so they
//     share a group with files of the current spec that truly are.
//   - A group is rewritten when it has 5 files, or 2 that add up to more than
//     the target, or adds up to more than 1.8 times the target, or has a file
//     that was selected for its deletes.
//
// The number of files to be written follows the packing of the group's files
// into the tasks of org.apache.iceberg.spark.actions.SparkBinPackFileRewriteRunner,
// since a task writes one file, or none when all its rows are deleted. The
// planner's own expectedOutputFiles is another figure, which the packing
// misses: ten files of 0.3 times the target are expected to become three, but
// four of them do not fit in one task. Three things are not known: the order in
// which manifests are read, which matters where the files of a group differ
// in size; where the row groups of a file begin, so that they are taken for
// equally large; and, for files of other specs that are spread over the
// partitions of the current one, how many partitions they hold, for which
// expectedOutputFiles stands in.
func RewriteDataFiles(table *metadata.Table, records []*manifest.Record) DataFileRewrite {
	return rewriteDataFiles(table, records, newPartitions(table, records))
}

func rewriteDataFiles(table *metadata.Table, records []*manifest.Record, partitions *partitions) DataFileRewrite {
	if table.CurrentSnapshotID == nil {
		return DataFileRewrite{}
	}
	p := &dataFilePlanner{table: table, records: records, partitions: partitions}
	var err error
	if p.sizes, err = sizesOf(table, targetFileSizeProperty, defaultTargetFileSize); err != nil {
		return DataFileRewrite{Refusal: err.Error()}
	}
	// This one is only looked at when there is a file to read.
	lookback, lookbackErr := property(table, lookbackProperty, defaultLookback, 32)
	if lookbackErr == nil && lookback <= 0 {
		lookbackErr = fmt.Errorf("the table property %s is %d", lookbackProperty, lookback)
	}
	p.lookback = int(lookback)
	p.deletes = indexDeletes(table, records)
	selected := p.selectFiles()
	var plan DataFileRewrite
	for bin := range bins(selected, len(partitions.numbers)) {
		bytes := bytesOf(bin)
		if !p.sizes.worthwhile(len(bin), bytes) && !anyDeleted(bin) {
			continue
		}
		if lookbackErr != nil {
			return DataFileRewrite{Refusal: lookbackErr.Error()}
		}
		plan.Groups++
		plan.Files += int64(len(bin))
		plan.Bytes += bytes
		plan.OutputFiles += p.output(bin, bytes)
	}
	return plan
}

type dataFilePlanner struct {
	table      *metadata.Table
	records    []*manifest.Record
	partitions *partitions
	sizes      sizes
	lookback   int
	deletes    *deletes
}

// selectFiles selects the files that may be rewritten, in the order of the
// manifests.
func (p *dataFilePlanner) selectFiles() []candidate {
	var selected []candidate
	for at, r := range p.records {
		if r.Content != manifest.Data {
			continue
		}
		if cap(selected)-len(selected) < r.Len() {
			selected = slices.Grow(selected, len(selected)+r.Len())
		}
		foreign := r.SpecID != p.table.DefaultSpecID
		for row := range r.Len() {
			e := r.Entry(row)
			rows, bytes := p.deletes.ofFile(e)
			if deleted := tooHighDeleteRatio(e, rows); deleted || p.sizes.misfit(e.Size) {
				selected = append(selected, candidate{
					size: e.Size, deletes: bytes, group: p.partitions.of(at)[e.Partition], record: int32(at), row: int32(row),
					splits: e.Splits, deleted: deleted, live: rows < e.Rows, foreign: foreign,
				})
			}
		}
	}
	return selected
}

// tooHighDeleteRatio computes like its namesake in Java, in which a file of no
// rows has no ratio.
func tooHighDeleteRatio(e manifest.Entry, deleted int64) bool {
	return deleted > 0 && float64(min(deleted, e.Rows))/float64(e.Rows) >= deleteRatio
}

func anyDeleted(bin []candidate) bool {
	for _, c := range bin {
		if c.deleted {
			return true
		}
	}
	return false
}

// output is how many files are written for a bin.
func (p *dataFilePlanner) output(bin []candidate, bytes int64) int64 {
	spread := p.partitions.spec.IsPartitioned()
	split := p.sizes.split(bytes)
	tasks := tasks{limit: split, lookback: p.lookback}
	for _, c := range bin {
		if spread && c.foreign {
			return p.sizes.expectedOutput(bytes)
		}
		if p.deletes.anyOfMany() {
			r := p.records[c.record]
			e := r.Entry(int(c.row))
			c.deletes += p.deletes.ofMany(e, partitionKey{r.SpecID, r.Partitions()[e.Partition]})
		}
		tasks.file(c)
	}
	return tasks.finish()
}

// tasks packs the pieces of files into tasks. Of several tasks that are open,
// the fullest is closed first (org.apache.iceberg.util.TableScanUtil.planTaskGroups).
type tasks struct {
	// limit is the most bytes that a task may read, lookback the most tasks
	// that may be open.
	limit    int64
	lookback int
	open     []task
	written  int64
}

type task struct {
	bytes int64
	// live is whether the task reads a row that is not deleted.
	live bool
}

// file adds the pieces of a data file. Each of them is read together with all
// the deletes that apply to the file.
func (t *tasks) file(f candidate) {
	if f.splits == 0 {
		// Pieces of the task's own size: no whole one shares a task.
		if f.live {
			t.written += f.size / t.limit
		}
		if rest := f.size % t.limit; rest > 0 {
			t.add(rest+f.deletes, f.live)
		}
		return
	}
	pieces := int64(f.splits)
	for range pieces - 1 {
		t.add(f.size/pieces+f.deletes, f.live)
	}
	t.add(f.size-(pieces-1)*(f.size/pieces)+f.deletes, f.live)
}

func (t *tasks) add(bytes int64, live bool) {
	for i := range t.open {
		if task := &t.open[i]; task.bytes+bytes <= t.limit {
			task.bytes += bytes
			task.live = task.live || live
			return
		}
	}
	t.open = append(t.open, task{bytes, live})
	if len(t.open) > t.lookback {
		fullest := 0
		for i, task := range t.open {
			if task.bytes > t.open[fullest].bytes {
				fullest = i
			}
		}
		t.close(t.open[fullest])
		t.open = append(t.open[:fullest], t.open[fullest+1:]...)
	}
}

func (t *tasks) close(task task) {
	if task.live {
		t.written++
	}
}

// finish closes all tasks, and returns how many of them write a file.
func (t *tasks) finish() int64 {
	for _, task := range t.open {
		t.close(task)
	}
	return t.written
}
