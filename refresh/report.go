package refresh

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/iceberg-exporter/iceberg_exporter/measure"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
	"github.com/iceberg-exporter/iceberg_exporter/source"
	"github.com/iceberg-exporter/iceberg_exporter/storage"
)

// reporter tells once that something fails, and once that it works again.
type reporter struct {
	logger log.Logger

	mu sync.Mutex
	// last is the hint of the failure that was told. Texts may differ from one
	// time to the next (a port, one of many files) where the trouble is the same.
	last string
}

// maxText bounds the text of an error: it may hold a path of any length.
const maxText = 2000

// outcome reports how something went.
func (r *reporter) outcome(doing string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		if r.last != "" {
			level.Info(r.logger).Log("msg", doing+" works again")
		}
		r.last = ""
		return
	}
	text, advice := err.Error(), hint(err)
	if len(text) > maxText {
		text = text[:maxText] + "..."
	}
	if advice == r.last {
		level.Debug(r.logger).Log("msg", doing+" still fails", "err", text)
		return
	}
	r.last = advice
	level.Error(r.logger).Log("msg", doing+" failed", "err", text, "hint", advice)
	if bug, ok := errors.AsType[*measure.PanicError](err); ok {
		level.Error(r.logger).Log("msg", "where it happened", "stack", string(bug.Stack))
	}
}

// hint says what to do about an error.
func hint(err error) string {
	var bug *measure.PanicError
	switch {
	case errors.As(err, &bug):
		return "please report this, with the stack below"
	case errors.Is(err, source.ErrNoTable):
		return "check the table's name and its catalog's configuration, or remove the table from the configuration"
	case errors.Is(err, errStateFile):
		return "let the exporter write to its directory"
	case errors.Is(err, storage.ErrElsewhere):
		return "see whether the table's location is right, and whether the credentials can list all of it"
	case errors.Is(err, fs.ErrNotExist):
		return "a file that the table's metadata names is gone: see whether something deletes files behind Iceberg's back; for a table that was moved, set allow_moved_paths"
	case errors.Is(err, fs.ErrPermission):
		return "check the credentials of the catalog, and let them read and list the table's storage"
	case errors.Is(err, metadata.ErrUnsupported):
		return "this table cannot be measured: exclude it, or follow the message"
	case errors.Is(err, metadata.ErrCorrupt):
		return "the file is damaged, or was not written as Iceberg's specification says: see whether an engine can still read the table"
	case errors.Is(err, context.DeadlineExceeded):
		return "see whether the catalog and its storage answer; for a table that takes longer, raise scrape.table_timeout, or for its scans orphan_scan.interval"
	default:
		return "see whether the catalog and its storage answer"
	}
}
