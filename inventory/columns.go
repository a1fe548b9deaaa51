package inventory

import (
	"fmt"
	"slices"

	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// names are the names of columns in one format.
type names struct{ key, version, latest, marker, size, modified string }

var (
	csvNames     = names{"Key", "VersionId", "IsLatest", "IsDeleteMarker", "Size", "LastModifiedDate"}
	parquetNames = names{"key", "version_id", "is_latest", "is_delete_marker", "size", "last_modified_date"}
)

// columns are the positions of those columns that are read. Those of versions are
// -1 in a report of current versions only.
type columns struct{ key, latest, marker, size, modified, all int }

// findColumns finds the columns that are needed among those that there are.
func findColumns(all []string, n names) (columns, error) {
	c := columns{
		key:    slices.Index(all, n.key),
		latest: slices.Index(all, n.latest), marker: slices.Index(all, n.marker),
		size: slices.Index(all, n.size), modified: slices.Index(all, n.modified),
		all: len(all),
	}
	switch {
	case c.key < 0:
		return c, fmt.Errorf("%w: the report has no column %s", metadata.ErrUnsupported, n.key)
	case c.size < 0:
		return c, missing(csvNames.size)
	case c.modified < 0:
		return c, missing(csvNames.modified)
	case slices.Contains(all, n.version) && (c.latest < 0 || c.marker < 0):
		return c, fmt.Errorf("%w: the report has versions of objects, but does not say which are current and which are delete markers", metadata.ErrUnsupported)
	}
	return c, nil
}

func missing(field string) error {
	return fmt.Errorf("%w: the report lacks the column %s; add this field to the inventory configuration and wait for the next report", metadata.ErrUnsupported, field)
}
