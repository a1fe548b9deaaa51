package storage

import (
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

// State is what holds a file under a table's location, or does not.
type State string

// States.
const (
	// Live are content files of the current snapshot.
	Live State = "live"
	// Historical are content files that only other retained snapshots have.
	Historical State = "historical"
	// Metadata are metadata.json files, manifest lists, manifests and statistics.
	Metadata State = "metadata"
	// Recent are files that nothing refers to and that are too young to judge:
	// a commit may be about to.
	Recent State = "recent"
	// Orphan are all other files that nothing refers to.
	Orphan State = "orphan"
	// Hidden are files that nothing refers to under a name that starts with _ or
	// a dot, which remove_orphan_files does not look at.
	Hidden State = "hidden"
)

// States lists the states.
func States() []State { return []State{Live, Historical, Metadata, Recent, Orphan, Hidden} }

// IsReferenced reports whether the table refers to files of this state.
func (s State) IsReferenced() bool { return s == Live || s == Historical || s == Metadata }

// Usage is a number of files and their size together.
type Usage struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

func (u *Usage) add(n, bytes int64) {
	u.Files += n
	u.Bytes += bytes
}

// Figures say where a table's bytes are.
type Figures struct {
	// Usage has every file under the location once, those of most states.
	Usage map[State]Usage `json:"usage"`
	// Missing are files of the current snapshot that belong under the location
	// and are not there; nil where it is not known.
	Missing *int64 `json:"missing,omitempty"`
	// ExpirableBytes is the size of the content files that only snapshots have
	// that expire_snapshots would expire; nil where some of them lie elsewhere,
	// or the procedure would refuse.
	ExpirableBytes *int64 `json:"expirable_bytes,omitempty"`
	// Refusal is why remove_orphan_files would fail, and empty where it would
	// not. Then it cannot be said which files are orphans.
	Refusal string `json:"refusal,omitempty"`
}

// Total is all that is under the location.
func (f *Figures) Total() Usage {
	var total Usage
	for _, u := range f.Usage {
		total.add(u.Files, u.Bytes)
	}
	return total
}

// Rules are the rules of remove_orphan_files (Iceberg's
// DeleteOrphanFilesSparkAction).
type Rules struct {
	// OlderThan is the moment before which a file must have been written to be
	// an orphan.
	OlderThan time.Time
	// Location is the table's: names below it are looked at for what is hidden.
	Location string
	// Fields are the names of the table's partition fields. Directories of
	// fields whose names start with _ or a dot are not hidden.
	Fields []string
}

// Account tells what each listed file is. It is safe for concurrent use.
type Account struct {
	references *References
	rules      Rules
	location   string
	// Found is told of every file that nothing refers to, unless it is nil.
	Found func(fileio.Info, State)

	mu        sync.Mutex
	usage     map[State]Usage
	expirable int64
	conflict  bool
	// loose are the files that nothing refers to, by their states: a commit
	// during the listing may refer to them.
	loose map[State][]looseFile
}

type looseFile struct {
	hash uint64
	size int64
}

// NewAccount returns an account of files that these sealed references tell apart.
func NewAccount(references *References, rules Rules) *Account {
	return &Account{references: references, rules: rules, location: uri.Path(rules.Location), usage: map[State]Usage{}, loose: map[State][]looseFile{}}
}

// Add accounts for listed files.
func (a *Account) Add(files []fileio.Info) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range files {
		a.add(f)
	}
}

// State returns the state of a listed file, which is not accounted for.
func (a *Account) State(f fileio.Info) State {
	path := uri.Path(f.URI)
	return a.state(f, path, manifest.PathHash(path))
}

// mistaken is the state of a file that cannot be told from one of another store.
const mistaken State = ""

func (a *Account) state(f fileio.Info, path string, hash uint64) State {
	switch r := a.references; {
	case r.mistaken[hash] && a.judge(f, path) == Orphan: // Only then does the engine compare it.
		return mistaken
	case r.content[Current].has(hash):
		return Live
	case r.content[Retained].has(hash), r.content[Expirable].has(hash):
		return Historical
	case r.metadata[hash]:
		return Metadata
	default:
		return a.judge(f, path)
	}
}

// judge returns the state of a file that nothing refers to.
func (a *Account) judge(f fileio.Info, path string) State {
	return a.rules.judge(strings.TrimPrefix(path, a.location), f.ModTime)
}

func (a *Account) add(f fileio.Info) {
	path := uri.Path(f.URI)
	hash := manifest.PathHash(path)
	state := a.state(f, path, hash)
	switch state {
	case mistaken:
		a.conflict = true
		a.references.content[Current].mark(hash) // It may be that one, and then it is there.
		return
	case Live:
		a.references.content[Current].mark(hash)
	case Historical:
		if a.references.content[Expirable].has(hash) {
			a.expirable += f.Size
		}
	case Metadata:
	default:
		a.loose[state] = append(a.loose[state], looseFile{hash, f.Size})
		if a.Found != nil {
			a.Found(f, state)
		}
	}
	a.count(state, 1, f.Size)
}

func (a *Account) count(state State, n, bytes int64) {
	u := a.usage[state]
	u.add(n, bytes)
	a.usage[state] = u
}

// ErrElsewhere says that nothing of what a table refers to was found under its
// location. It is then not the table's, or was not listed as it is.
var ErrElsewhere = errors.New("nothing under the table's location is what the table refers to")

// Figures returns the figures once everything was listed. If the table has changed
// since, newer has the files of its current snapshot and of all manifests that
// are new; else it is nil.
func (a *Account) Figures(newer *References) (*Figures, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	missing := a.references.content[Current].unmarked()
	if newer != nil {
		a.adopt(newer)
		missing = a.missingOf(newer)
	}
	found := a.usage[Live].Files + a.usage[Historical].Files + a.usage[Metadata].Files
	if found == 0 && !a.conflict && (a.references.expected > 0 || len(a.loose) > 0) {
		return nil, ErrElsewhere
	}
	f := &Figures{Usage: maps.Clone(a.usage), Missing: &missing}
	if !a.references.outside {
		expirable := a.expirable // A pointer into the account would keep all of it.
		f.ExpirableBytes = &expirable
	}
	if a.conflict {
		f.Refusal = "some files differ from ones that the metadata names only in their scheme or authority"
	}
	return f, nil
}

// adopt corrects the states of files that nothing referred to when they were
// listed.
func (a *Account) adopt(newer *References) {
	for state, files := range a.loose {
		for _, f := range files {
			var now State
			switch {
			case newer.content[Current].has(f.hash):
				now = Live
			case newer.content[Retained].has(f.hash), newer.content[Expirable].has(f.hash):
				now = Historical
			case newer.metadata[f.hash]:
				now = Metadata
			default:
				continue
			}
			a.count(state, -1, -f.size)
			a.count(now, 1, f.size)
		}
	}
}

// missingOf is how many files the current snapshot had before the listing and
// still has, and that were not listed.
func (a *Account) missingOf(newer *References) int64 {
	var n int64
	before := &a.references.content[Current]
	for hash := range newer.content[Current].all() {
		if before.has(hash) && !before.marked(hash) {
			n++
		}
	}
	return n
}

// judge returns the state of a file that nothing refers to, by what follows the
// location in its path.
func (r *Rules) judge(below string, written time.Time) State {
	for name := range strings.SplitSeq(below, "/") {
		if (strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".")) && !r.isPartition(name) {
			return Hidden
		}
	}
	if written.Before(r.OlderThan) {
		return Orphan
	}
	return Recent
}

// isPartition reports whether a name is that of a directory of a partition.
func (r *Rules) isPartition(name string) bool {
	for _, field := range r.Fields {
		if strings.HasPrefix(name, field+"=") {
			return true
		}
	}
	return false
}
