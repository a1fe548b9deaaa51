package refresh

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/iceberg-exporter/iceberg_exporter/measure"
)

// results are the last results of scans, which are kept over restarts and changes
// of the configuration.
type results struct {
	logger log.Logger

	// writing is held while the file is written, which may take long; it comes
	// before mu.
	writing sync.Mutex

	mu   sync.Mutex
	file string
	// kept are the results by table and storage.
	kept map[string]result
	// report tells of the writing of the file.
	report *reporter
}

// result is a scan's in the state file.
type result struct {
	Duration time.Duration `json:"duration"`
	Scan     *measure.Scan `json:"scan"`
}

// state is the content of a state file.
type state struct {
	// Version is that of the format.
	Version int               `json:"version"`
	Results map[string]result `json:"results"`
}

const (
	stateVersion = 1
	// maxResultAge is how long the results of a table are kept that is no longer
	// scanned.
	maxResultAge = 90 * 24 * time.Hour
)

// load reads the state file. One that cannot be read counts as empty.
func (r *results) load(file string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if file == r.file {
		return
	}
	r.file, r.report = file, &reporter{logger: log.With(r.logger, "file", file)}
	if file == "" {
		return
	}
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var read state
	if err == nil {
		err = json.Unmarshal(content, &read)
	}
	if err == nil && read.Version != stateVersion {
		err = fmt.Errorf("it is of version %d, not %d", read.Version, stateVersion)
	}
	if err != nil {
		level.Warn(r.logger).Log("msg", "ignoring the state file of orphan scans", "file", file, "err", err,
			"hint", "its tables are scanned anew; the file is written over after the next scan")
		return
	}
	for key, one := range read.Results {
		if _, newer := r.kept[key]; !newer && one.Scan != nil && one.Scan.Figures != nil {
			r.kept[key] = one
		}
	}
}

// keyOf names a table in a storage. The storage's own name may hold secrets.
func (r *results) keyOf(t *table) string {
	return fmt.Sprintf("%s %016x", t.key, xxhash.Sum64String(t.catalog.client.Store()))
}

// of returns the last result of a table, and whether there is one. One from a time
// that is yet to come is none.
func (r *results) of(t *table, now time.Time) (Scan, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, ok := r.kept[r.keyOf(t)]
	if ok && kept.Scan.Time.After(now) {
		return Scan{}, false
	}
	return Scan{Done: ok, Succeeded: ok, Duration: kept.Duration, Result: kept.Scan}, ok
}

// keep keeps the result of a scan that succeeded.
func (r *results) keep(t *table, s Scan, now time.Time) {
	if !s.Succeeded {
		return
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	file, report, content, err := r.add(t, s, now)
	if file == "" {
		return
	}
	if err == nil {
		err = write(file, content)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", errStateFile, err)
	}
	report.outcome("writing the state file of orphan scans", err)
}

// errStateFile marks that the state file cannot be written.
var errStateFile = errors.New("a restart would lose the results of scans")

// add adds a result, and returns what is to be written where, and who tells of it.
func (r *results) add(t *table, s Scan, now time.Time) (file string, report *reporter, content []byte, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[r.keyOf(t)] = result{s.Duration, s.Result}
	for key, one := range r.kept {
		if now.Sub(one.Scan.Time) > maxResultAge {
			delete(r.kept, key)
		}
	}
	if r.file == "" {
		return "", nil, nil, nil
	}
	content, err = json.Marshal(state{stateVersion, r.kept})
	return r.file, r.report, content, err
}

// write replaces a state file by one that is whole.
func write(file string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}
