package collector

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iceberg-exporter/iceberg_exporter/layout"
	"github.com/iceberg-exporter/iceberg_exporter/refresh"
)

// dataFiles tells of the data files: the small-files problem in numbers.
type dataFiles struct {
	files, bytes, average, smallest, largest *Metric
	small, smallRatio, smallThreshold        *Metric
	sizes, records                           *Metric
	partitions                               *Metric
	partitionFiles, partitionBytes           *Metric
}

func newDataFiles(d *descriptions) *dataFiles {
	return &dataFiles{
		files:          d.gauge("iceberg_table_data_files", "Live data files."),
		bytes:          d.gauge("iceberg_table_data_bytes", "Total size of the live data files."),
		average:        d.gauge("iceberg_table_data_file_average_bytes", "Mean size of the live data files. Absent without files."),
		smallest:       d.gauge("iceberg_table_data_file_min_bytes", "Size of the smallest live data file. Absent without files."),
		largest:        d.gauge("iceberg_table_data_file_max_bytes", "Size of the largest live data file. Absent without files."),
		small:          d.gauge("iceberg_table_small_data_files", "Live data files smaller than the small-file threshold."),
		smallRatio:     d.gauge("iceberg_table_small_data_file_ratio", "Share of the live data files that are smaller than the small-file threshold. Absent without files."),
		smallThreshold: d.gauge("iceberg_table_small_file_threshold_bytes", "The configured small_file_threshold: smaller data files count as small."),
		sizes:          d.histogram("iceberg_table_data_file_size_bytes", "Distribution of the sizes of the live data files."),
		records:        d.gauge("iceberg_table_records", "Rows in the live data files; deletes are not applied."),
		partitions:     d.gauge("iceberg_table_partitions", "Distinct partitions, by partition spec and values, with a live data file. An unpartitioned table with files has 1."),
		partitionFiles: d.gauge("iceberg_table_partition_data_files", "Live data files of the partitions with the most, as many as partitions_top says.", "partition"),
		partitionBytes: d.gauge("iceberg_table_partition_data_bytes", "Total size of the live data files of the partitions with the most files.", "partition"),
	}
}

func (f *dataFiles) collect(e emitter, t refresh.Table, _ time.Time) {
	l := t.Measurement.Layout
	e.count(f.files, l.DataFiles)
	e.count(f.bytes, l.DataBytes)
	e.count(f.records, l.Records)
	e.count(f.partitions, int64(l.Partitions))
	e.count(f.small, l.SmallDataFiles)
	e.count(f.smallThreshold, int64(t.Settings.SmallFileThreshold))
	if l.DataFiles > 0 {
		e.send(f.average, float64(l.DataBytes)/float64(l.DataFiles))
		e.count(f.smallest, l.MinBytes)
		e.count(f.largest, l.MaxBytes)
		e.send(f.smallRatio, float64(l.SmallDataFiles)/float64(l.DataFiles))
	}
	f.distribution(e, l)
	for _, p := range l.WorstPartitions {
		e.count(f.partitionFiles, p.DataFiles, p.Name)
		e.count(f.partitionBytes, p.DataBytes, p.Name)
	}
}

func (f *dataFiles) distribution(e emitter, l *layout.Layout) {
	buckets := map[float64]uint64{}
	var upTo uint64
	for i, bound := range layout.SizeBounds() {
		upTo += uint64(l.SizeBuckets[i])
		buckets[float64(bound)] = upTo
	}
	e.ch <- prometheus.MustNewConstHistogram(f.sizes.desc, uint64(l.DataFiles), float64(l.DataBytes), buckets, e.base...)
}
