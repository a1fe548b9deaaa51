package collector

import (
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/maintenance"
	"github.com/iceberg-exporter/iceberg_exporter/refresh"
)

// predictions tells what maintenance would do now.
type predictions struct {
	candidates, candidateBytes, groups, output *Metric
	expirable                                  *Metric
	rewritable, manifestOutput                 *Metric
	deleteCandidates                           *Metric
}

func newPredictions(d *descriptions) *predictions {
	return &predictions{
		candidates:       d.gauge("iceberg_table_compaction_candidate_files", "Data files that rewrite_data_files would rewrite with its default options. Absent where the procedure would refuse."),
		candidateBytes:   d.gauge("iceberg_table_compaction_candidate_bytes", "Total size of the data files that rewrite_data_files would rewrite."),
		groups:           d.gauge("iceberg_table_compaction_groups", "File groups that rewrite_data_files would rewrite."),
		output:           d.gauge("iceberg_table_compaction_output_files", "Data files that rewrite_data_files would write."),
		expirable:        d.gauge("iceberg_table_expirable_snapshots", "Snapshots that expire_snapshots would expire with its default options. Absent where the procedure would refuse."),
		rewritable:       d.gauge("iceberg_table_rewritable_manifests", "Manifests that rewrite_manifests would rewrite: data or deletes. Absent where the procedure would refuse.", "content"),
		manifestOutput:   d.gauge("iceberg_table_manifest_rewrite_output_manifests", "Manifests that rewrite_manifests would write: data or deletes.", "content"),
		deleteCandidates: d.gauge("iceberg_table_delete_compaction_candidate_files", "Position delete files that rewrite_position_delete_files would rewrite with its default options. Absent where the procedure would refuse."),
	}
}

func (p *predictions) collect(e emitter, t refresh.Table, now time.Time) {
	m := t.Measurement
	if files := m.Prediction.DataFiles; files.Refusal == "" {
		e.count(p.candidates, files.Files)
		e.count(p.candidateBytes, files.Bytes)
		e.count(p.groups, files.Groups)
		e.count(p.output, files.OutputFiles)
	}
	if expiry := maintenance.ExpireSnapshots(m.Snapshots, now); expiry.Refusal == "" {
		e.count(p.expirable, int64(len(expiry.Snapshots)))
	}
	if manifests := m.Prediction.Manifests; manifests.Refusal == "" {
		for content, figures := range map[string]maintenance.Manifests{"data": manifests.Data, "deletes": manifests.Deletes} {
			e.count(p.rewritable, figures.Rewritable, content)
			e.count(p.manifestOutput, figures.Output, content)
		}
	}
	if deletes := m.Prediction.PositionDeleteFiles; deletes.Refusal == "" {
		e.count(p.deleteCandidates, deletes.Files)
	}
}
