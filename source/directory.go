package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

// directory reads tables by where they lie: a table directory with its newest
// metadata file, or one metadata file.
type directory struct {
	files  *fileio.Storage
	limits Limits
	// moved reads paths under the recorded location where the table was found.
	moved bool
}

// metadataDirectory is where a table keeps its metadata, below its location.
const metadataDirectory = "metadata"

// locate finds the metadata of the table at a location.
func (d *directory) locate(ctx context.Context, location string) (*Table, error) {
	found, err := d.find(ctx, location)
	if err != nil {
		return nil, err
	}
	t := &Table{Version: fmt.Sprintf("%s %d %d", found.URI, found.Size, found.ModTime.UnixNano())}
	t.read = func(ctx context.Context) (*Metadata, error) {
		m, err := readFile(ctx, d.files, found.URI, d.limits)
		if err != nil {
			return nil, err
		}
		m.Files = fileio.ForTable(d.files, found.URI, m.Location)
		if d.moved {
			m.Files = m.Files.Moved(tableDirectory(found.URI))
		}
		return m, nil
	}
	return t, nil
}

// tableDirectory is the directory of the table that a metadata file is of.
func tableDirectory(metadataFile string) string {
	at := uri.Dir(metadataFile)
	if uri.Base(at) == metadataDirectory {
		return uri.Dir(at)
	}
	return at
}

func (d *directory) find(ctx context.Context, location string) (fileio.Info, error) {
	if isMetadataFile(location) {
		return d.files.Stat(ctx, location)
	}
	at := uri.Join(location, metadataDirectory)
	// A hint that is damaged, or leads nowhere, is no hint.
	hinted, err := d.hinted(ctx, at)
	if err == nil && hinted.URI != "" {
		return hinted, nil
	}
	if ctx.Err() != nil {
		return fileio.Info{}, ctx.Err()
	}
	return d.newest(ctx, at)
}

func isMetadataFile(name string) bool {
	return strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".json.gz")
}

// maxVersionsAhead bounds how far a version hint may lag behind. Writers update
// it after every commit, so it lags by those under way.
const maxVersionsAhead = 1000

// hinted finds the metadata file that version-hint.text leads to, and returns a
// zero Info where it leads nowhere. Like Iceberg's HadoopTableOperations it goes
// on to the last version that exists, since the hint is written after a commit.
func (d *directory) hinted(ctx context.Context, at string) (fileio.Info, error) {
	hint, err := d.readHint(ctx, uri.Join(at, "version-hint.text"))
	if err != nil {
		return fileio.Info{}, err
	}
	found, err := d.version(ctx, at, hint)
	if err != nil || found.URI == "" {
		return found, err
	}
	number, numbered := atoi(hint)
	if !numbered {
		return found, nil // A hint with a whole name has no successor to guess.
	}
	for range maxVersionsAhead {
		number++
		next, err := d.version(ctx, at, strconv.Itoa(number))
		if err != nil || next.URI == "" {
			return found, err
		}
		found = next
	}
	return found, nil
}

func (d *directory) readHint(ctx context.Context, file string) (string, error) {
	r, err := d.files.Open(ctx, file)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, 4096))
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(text)), nil
}

// version returns the metadata file of one version, a zero Info without one.
func (d *directory) version(ctx context.Context, at, version string) (fileio.Info, error) {
	if version == "" || strings.ContainsAny(version, "/\\") {
		return fileio.Info{}, nil
	}
	if isMetadataFile(version) {
		return d.files.Stat(ctx, uri.Join(at, version))
	}
	names := []string{version + ".metadata.json", version + ".gz.metadata.json", version + ".metadata.json.gz"}
	if _, numbered := atoi(version); numbered {
		for i := range names {
			names[i] = "v" + names[i]
		}
	}
	for _, name := range names {
		info, err := d.files.Stat(ctx, uri.Join(at, name))
		if err == nil {
			return info, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fileio.Info{}, err
		}
	}
	return fileio.Info{}, nil
}

func atoi(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// versioned matches the names of metadata files: v3.metadata.json and
// 00003-<uuid>.metadata.json, gzipped or not.
var versioned = regexp.MustCompile(`^v?([0-9]+)(?:-[^/]*)?(?:\.gz)?\.metadata\.json(?:\.gz)?$`)

// newest finds the metadata file of the highest version, of two of one version
// the later one.
func (d *directory) newest(ctx context.Context, at string) (fileio.Info, error) {
	var best fileio.Info
	bestVersion := -1
	for info, err := range d.files.List(ctx, at) {
		if errors.Is(err, fs.ErrNotExist) {
			return best, fmt.Errorf("%s: %w", at, ErrNoTable)
		}
		if err != nil {
			return best, err
		}
		match := versioned.FindStringSubmatch(uri.Base(info.URI))
		if match == nil || info.IsDir {
			continue
		}
		version, numbered := atoi(match[1])
		if !numbered {
			continue
		}
		if version > bestVersion || version == bestVersion && info.ModTime.After(best.ModTime) {
			best, bestVersion = info, version
		}
	}
	if bestVersion < 0 {
		return best, fmt.Errorf("%s: there is no metadata file: %w", at, ErrNoTable)
	}
	return best, nil
}
