package collector

import (
	"strconv"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/refresh"
)

// identity tells what a table is and how it is set up to be written.
type identity struct {
	info, writer, target *Metric
}

func newIdentity(d *descriptions) *identity {
	return &identity{
		info: d.gauge("iceberg_table_info",
			"What the table is: always 1.", "uuid", "format_version", "location", "partitioned"),
		writer: d.gauge("iceberg_table_writer_info",
			"How the table's properties tell writers to write: always 1. A label is empty where the table does not set the property.",
			"distribution_mode", "fanout_enabled", "file_format", "delete_mode", "metadata_delete_after_commit"),
		target: d.gauge("iceberg_table_target_file_size_bytes",
			"The table's write.target-file-size-bytes, or its default."),
	}
}

func (i *identity) collect(e emitter, t refresh.Table, _ time.Time) {
	info := t.Measurement.Info
	e.send(i.info, 1, info.UUID, strconv.Itoa(info.FormatVersion), config.RedactURI(info.Location), strconv.FormatBool(info.Partitioned))
	e.send(i.writer, 1, info.DistributionMode, info.FanoutEnabled, info.FileFormat, info.DeleteMode, info.MetadataDeleteAfterCommit)
	e.count(i.target, info.TargetFileSize)
}
