package collector

import (
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/layout"
	"github.com/iceberg-exporter/iceberg_exporter/refresh"
)

// metadataFiles tells what planning a query has to read first.
type metadataFiles struct {
	manifests, manifestBytes  *Metric
	bytes, logEntries, logMax *Metric
	specs, schemas            *Metric
}

func newMetadataFiles(d *descriptions) *metadataFiles {
	return &metadataFiles{
		manifests:     d.gauge("iceberg_table_manifests", "Manifests of the current snapshot: data or deletes.", "content"),
		manifestBytes: d.gauge("iceberg_table_manifest_bytes", "Total size of the manifests of the current snapshot.", "content"),
		bytes:         d.gauge("iceberg_table_metadata_bytes", "Size of the current metadata.json as it is stored. Absent where the file cannot be looked at."),
		logEntries:    d.gauge("iceberg_table_metadata_log_entries", "Previous metadata files that the table still tracks."),
		logMax:        d.gauge("iceberg_table_metadata_log_limit", "How many previous metadata files are tracked: write.metadata.previous-versions-max, or its default."),
		specs:         d.gauge("iceberg_table_partition_specs", "Versions of the partition spec that the metadata keeps."),
		schemas:       d.gauge("iceberg_table_schemas", "Versions of the schema that the metadata keeps."),
	}
}

func (f *metadataFiles) collect(e emitter, t refresh.Table, _ time.Time) {
	for _, kind := range []struct {
		content string
		figures layout.Manifests
	}{
		{"data", t.Measurement.Layout.DataManifests},
		{"deletes", t.Measurement.Layout.DeleteManifests},
	} {
		e.count(f.manifests, kind.figures.Count, kind.content)
		e.count(f.manifestBytes, kind.figures.Bytes, kind.content)
	}
	info := t.Measurement.Info
	e.known(f.bytes, t.Measurement.MetadataBytes)
	e.count(f.logEntries, int64(info.MetadataLogEntries))
	e.count(f.logMax, info.MetadataLogLimit)
	e.count(f.specs, int64(info.PartitionSpecs))
	e.count(f.schemas, int64(info.Schemas))
}
