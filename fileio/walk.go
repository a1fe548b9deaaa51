package fileio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"gocloud.dev/blob"
	"golang.org/x/sync/errgroup"

	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

// Walk implements Files.
func (s *Storage) Walk(ctx context.Context, directory string, visit func([]Info) error) error {
	directory = strings.TrimRight(directory, "/")
	if path, local := uri.Local(directory); local {
		w := localWalk{ctx: ctx, visit: visit}
		if err := w.directory(directory, path, nil); err != nil {
			return fmt.Errorf("listing %s: %w", directory, err)
		}
		return nil
	}
	bucket, prefix, err := s.object(directory + "/")
	if err != nil {
		return failed("listing", directory, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(walkers)
	w := &objectWalk{
		storage: s, bucket: bucket, prefix: prefix, group: group, visit: visit,
		root: strings.TrimSuffix(directory, strings.TrimSuffix(prefix, "/")),
	}
	w.deaf.Store(!canBegin(bucket))
	w.start(ctx, keys{})
	err = group.Wait()
	if bug := w.bug.Load(); bug != nil {
		panic(*bug) // Here it can be caught.
	}
	if err == nil && !w.found.Load() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return failed("listing", directory, err)
	}
	return nil
}

const (
	// walkers is how many listings of one directory go on at once.
	walkers = 8
	// splitAfter is after how many pages a listing that is not at its end is
	// shared out: a small table costs no request more than it must.
	splitAfter = 10
)

// objectWalk lists what is below a prefix. Stores list a page at a time, and each
// page tells where the next one begins, so that more than one listing at once
// needs places in the order of the keys to begin at. Directories are such places:
// where they start is told by one more request.
type objectWalk struct {
	storage *Storage
	bucket  *blob.Bucket
	prefix  string
	// root and a key are a URI.
	root  string
	group *errgroup.Group
	// active is how many listings go on.
	active atomic.Int32
	visit  func([]Info) error
	// found is whether there is anything at all.
	found atomic.Bool
	// deaf is whether the store begins where it wants to.
	deaf atomic.Bool
	// bug is the first panic.
	bug atomic.Pointer[any]
}

// keys are those from one key on and before another; an empty one is no limit.
type keys struct{ from, before string }

// start lists some keys in another goroutine where there is one to be had, and
// reports whether there was.
func (w *objectWalk) start(ctx context.Context, of keys) bool {
	return w.group.TryGo(func() error {
		w.active.Add(1)
		defer w.active.Add(-1)
		defer func() {
			if value := recover(); value != nil {
				w.bug.CompareAndSwap(nil, &value)
			}
		}()
		return w.list(ctx, of)
	})
}

// list visits the objects of some keys.
func (w *objectWalk) list(ctx context.Context, of keys) error {
	last, ordered, pages := of.from, true, 0
	for page, err := range w.storage.pages(ctx, w.bucket, pageOf{prefix: w.prefix, from: of.from}) {
		if err != nil {
			return err
		}
		infos := make([]Info, 0, len(page))
		for _, object := range page {
			w.found.Store(true)
			if object.Key < of.from && ordered {
				w.deaf.Store(true)
				continue
			}
			ordered = ordered && (object.Key > last || last == of.from)
			if !ordered && of != (keys{}) {
				return fmt.Errorf("the store does not list in the order of keys: %q comes after %q", object.Key, last)
			}
			if of.before != "" && object.Key >= of.before {
				return w.visit(infos)
			}
			last = object.Key
			if !strings.HasSuffix(object.Key, "/") {
				infos = append(infos, Info{URI: w.root + object.Key, Size: object.Size, ModTime: object.ModTime})
			}
		}
		if err := w.visit(infos); err != nil {
			return err
		}
		if pages++; pages%splitAfter == 0 && ordered && !w.deaf.Load() && w.active.Load() < walkers {
			if of.before, err = w.share(ctx, keys{last, of.before}); err != nil {
				return err
			}
		}
	}
	return nil
}

// share has others list parts of the keys that are left, and returns where the
// rest ends.
func (w *objectWalk) share(ctx context.Context, left keys) (before string, err error) {
	borders, err := w.borders(ctx, left)
	if err != nil {
		return "", err
	}
	step := max(len(borders)/walkers, 1)
	// From the end, so that what is left is always one piece.
	before = left.before
	for i := len(borders) - step; i >= 0; i -= step {
		if !w.start(ctx, keys{borders[i], before}) {
			break
		}
		before = borders[i]
	}
	return before, nil
}

// borders returns where directories begin among the keys that are left, in
// order: directories beside the one that the first key is in, or beside one that
// this one is in, from the top down until there are enough.
func (w *objectWalk) borders(ctx context.Context, left keys) ([]string, error) {
	var most []string
	below := strings.TrimPrefix(left.from, w.prefix)
	for at := 0; ; {
		borders, err := w.directories(ctx, w.prefix+below[:at], left)
		if err != nil {
			return nil, err
		}
		if len(borders) > len(most) {
			most = borders
		}
		next := strings.IndexByte(below[at:], '/')
		if len(most) >= walkers || next < 0 {
			return most, nil
		}
		at += next + 1
	}
}

// directories returns the first directories directly below a prefix that begin
// among some keys.
func (w *objectWalk) directories(ctx context.Context, prefix string, among keys) ([]string, error) {
	for page, err := range w.storage.pages(ctx, w.bucket, pageOf{prefix: prefix, delimiter: "/", from: among.from}) {
		if err != nil {
			return nil, err
		}
		var found []string
		for _, object := range page {
			if object.IsDir && object.Key > among.from && (among.before == "" || object.Key < among.before) {
				found = append(found, object.Key)
			}
		}
		slices.Sort(found)
		return found, nil // The page has enough of them.
	}
	return nil, nil
}

// localWalk lists what is below a directory of a local disk. Links are followed,
// as engines do.
type localWalk struct {
	ctx   context.Context
	visit func([]Info) error
}

// directory visits the files below a directory. The directories that it is in
// tell a link that leads back to one of them.
func (w *localWalk) directory(at, path string, above []fs.FileInfo) error {
	self, err := os.Stat(path)
	if err != nil {
		return err
	}
	for _, upper := range above {
		if os.SameFile(self, upper) {
			return fmt.Errorf("%s: a link leads back to a directory that it is in", path)
		}
	}
	above = append(above, self)
	opened, err := os.Open(path)
	if err != nil {
		return err
	}
	defer opened.Close()
	var below []string
	for {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		names, err := opened.Readdirnames(pageSize)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		var infos []Info
		for _, name := range names {
			info, err := os.Stat(path + "/" + name)
			switch {
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ELOOP): // Deleted since, or a link to nothing.
			case err != nil:
				return err
			case info.IsDir():
				below = append(below, name)
			case info.Mode().IsRegular():
				infos = append(infos, Info{URI: at + "/" + name, Size: info.Size(), ModTime: info.ModTime()})
			}
		}
		if err := w.visit(infos); err != nil {
			return err
		}
	}
	for _, name := range below {
		err := w.directory(at+"/"+name, path+"/"+name, above)
		if errors.Is(err, fs.ErrNotExist) {
			continue // Deleted since.
		}
		if err != nil {
			return err
		}
	}
	return nil
}
