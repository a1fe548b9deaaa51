package maintenance

import (
	"fmt"
	"iter"

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
	p.deletes = indexDeletes(table, records)
	p.applied = p.deletes.fileScoped.apply(records)
	// This one is only looked at when there is a file to read.
	lookback, lookbackErr := property(table, lookbackProperty, defaultLookback, 32)
	if lookbackErr == nil && lookback <= 0 {
		lookbackErr = fmt.Errorf("the table property %s is %d", lookbackProperty, lookback)
	}
	bins := p.bins()
	var plan DataFileRewrite
	output := make([]tasks, len(bins))
	for i, bin := range bins {
		if !p.sizes.worthwhile(bin.files, bin.bytes) && !bin.deleted {
			continue
		}
		if lookbackErr != nil {
			return DataFileRewrite{Refusal: lookbackErr.Error()}
		}
		plan.Groups++
		plan.Files += bin.files
		plan.Bytes += bin.bytes
		if partitions.spec.IsPartitioned() && bin.hasOther(table.DefaultSpecID) {
			plan.OutputFiles += p.sizes.expectedOutput(bin.bytes)
		} else {
			output[i] = tasks{limit: p.sizes.split(bin.bytes), lookback: int(lookback)}
		}
	}
	if plan.Groups == 0 {
		return plan
	}
	p.fill(output)
	for i := range output {
		plan.OutputFiles += output[i].finish()
	}
	return plan
}

type dataFilePlanner struct {
	table      *metadata.Table
	records    []*manifest.Record
	partitions *partitions
	sizes      sizes
	deletes    *deletes
	// applied are the deletes of each record's files.
	applied [][]applied
}

// candidate is a file that is selected, before the groups are judged.
type candidate struct {
	// record and row are where the file is told.
	record, row int
	// group is the number of the partition that the file is rewritten in.
	group int32
	size  int64
	// deletes is the size of the deletes that apply to this file alone.
	deletes int64
	splits  uint8
	// deleted is whether it is selected for its deletes, live whether a row of
	// it may be left.
	deleted, live bool
}

// candidates are the files that may be rewritten, in the order of the manifests.
func (p *dataFilePlanner) candidates() iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		for at, r := range p.records {
			if r.Content != manifest.Data {
				continue
			}
			numbers, deletes := p.partitions.of(at), p.applied[at]
			for row := range r.Len() {
				size, rows := r.SizeAt(row), r.RowsAt(row)
				var d applied
				if deletes != nil {
					d = deletes[row]
				}
				deleted := tooHighDeleteRatio(rows, d.rows)
				if !deleted && !p.sizes.misfit(size) {
					continue
				}
				if !yield(candidate{at, row, numbers[r.PartitionAt(row)], size, d.bytes, r.SplitsAt(row), deleted, d.rows < rows}) {
					return
				}
			}
		}
	}
}

// bins packs the candidates.
func (p *dataFilePlanner) bins() []bin {
	var packed bins
	for c := range p.candidates() {
		number := packed.add(c.group, c.size, p.records[c.record].SpecID)
		if c.deleted {
			packed.all[number].deleted = true
		}
	}
	return packed.all
}

// fill packs the candidates of each bin into its tasks, unless it has none.
func (p *dataFilePlanner) fill(output []tasks) {
	var packed bins
	for c := range p.candidates() {
		r := p.records[c.record]
		t := &output[packed.add(c.group, c.size, r.SpecID)]
		if t.limit == 0 {
			continue
		}
		if p.deletes.anyOfMany() {
			e := r.Entry(c.row)
			c.deletes += p.deletes.ofMany(e, partitionKey{r.SpecID, r.Partitions()[e.Partition]})
		}
		t.file(c)
	}
}

// tooHighDeleteRatio computes like its namesake in Java, in which a file of no
// rows has no ratio.
func tooHighDeleteRatio(rows, deleted int64) bool {
	return deleted > 0 && float64(min(deleted, rows))/float64(rows) >= deleteRatio
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
