package layout

import "github.com/iceberg-exporter/iceberg_exporter/metadata"

// Defaults of table properties (org.apache.iceberg.TableProperties).
const (
	defaultTargetFileSize    = 536_870_912
	defaultPreviousVersions  = 100
	targetFileSizeProperty   = "write.target-file-size-bytes"
	previousVersionsProperty = "write.metadata.previous-versions-max"
)

// Info is what a table is and how it is set up to be written.
type Info struct {
	UUID          string
	FormatVersion int
	Location      string
	// Partitioned is whether the spec that writers use has a partition field.
	Partitioned bool

	// Writer settings, empty where the table does not set them.
	DistributionMode          string
	FanoutEnabled             string
	FileFormat                string
	DeleteMode                string
	MetadataDeleteAfterCommit string
	// TargetFileSize is in bytes, the default where the table does not set it.
	TargetFileSize int64

	MetadataLogEntries int
	// MetadataLogLimit is how many previous metadata files are tracked.
	MetadataLogLimit int64
	PartitionSpecs   int
	Schemas          int
}

// MeasureInfo tells what a table is.
func MeasureInfo(table *metadata.Table) Info {
	spec, _ := table.Spec(table.DefaultSpecID)
	return Info{
		UUID:          table.UUID,
		FormatVersion: table.FormatVersion,
		Location:      table.Location,
		Partitioned:   spec.IsPartitioned(),

		DistributionMode:          table.Properties["write.distribution-mode"],
		FanoutEnabled:             table.Properties["write.spark.fanout.enabled"],
		FileFormat:                table.Properties["write.format.default"],
		DeleteMode:                table.Properties["write.delete.mode"],
		MetadataDeleteAfterCommit: table.Properties["write.metadata.delete-after-commit.enabled"],
		TargetFileSize:            table.IntProperty(targetFileSizeProperty, defaultTargetFileSize),

		MetadataLogEntries: len(table.MetadataLog),
		MetadataLogLimit:   table.IntProperty(previousVersionsProperty, defaultPreviousVersions),
		PartitionSpecs:     len(table.Specs),
		Schemas:            table.Schemas,
	}
}
