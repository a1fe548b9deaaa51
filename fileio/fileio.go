// Package fileio reads files by their URI, in object stores and on local disks,
// with a context for every call.
//
// Object stores are reached through iceberg-go, with its property names. Nothing
// here can write or delete.
package fileio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/io/gocloud/blobfs"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	// The object stores that iceberg-go knows.
	_ "github.com/apache/iceberg-go/io/gocloud"

	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

// Info describes a file, or a directory in a listing.
type Info struct {
	URI     string
	Size    int64
	ModTime time.Time
	IsDir   bool
}

// Files reads files. Errors satisfy errors.Is with fs.ErrNotExist and
// fs.ErrPermission where that is what is wrong.
type Files interface {
	// Open reads a file from its beginning.
	Open(ctx context.Context, file string) (io.ReadCloser, error)
	Stat(ctx context.Context, file string) (Info, error)
	// List yields what lies directly in a directory. A directory that does not
	// exist is empty in an object store and an error on a local disk.
	List(ctx context.Context, directory string) iter.Seq2[Info, error]
	// Walk visits every file below a directory, in no order, several at a time
	// and from several goroutines at once. It ends with the first error, which
	// visit may return too. Names that end in a slash, which stand for
	// directories, are no files. A directory that does not exist is an error; in
	// an object store that is one that has nothing.
	Walk(ctx context.Context, directory string, visit func([]Info) error) error
}

// Counter counts what is read from storage, and what object stores are asked.
type Counter struct{ bytes, lists, reads, stats atomic.Uint64 }

// Bytes is the number of bytes read so far.
func (c *Counter) Bytes() uint64 { return c.bytes.Load() }

// Requests are numbers of requests to object stores. Requests that a client
// repeats by itself count once.
type Requests struct{ Lists, Reads, Stats uint64 }

// Requests is the number of requests so far.
func (c *Counter) Requests() Requests {
	return Requests{Lists: c.lists.Load(), Reads: c.reads.Load(), Stats: c.stats.Load()}
}

// Storage is the storage that one set of iceberg-go properties gives access to.
// It is safe for concurrent use.
type Storage struct {
	ctx        context.Context
	properties map[string]string
	counter    *Counter

	mu      sync.Mutex
	buckets map[string]*blob.Bucket
}

// New returns the storage that these properties give access to. The context
// lives as long as the storage: clients renew their credentials with it.
func New(ctx context.Context, properties map[string]string, counter *Counter) *Storage {
	return &Storage{ctx: ctx, properties: properties, counter: counter, buckets: map[string]*blob.Bucket{}}
}

// Close releases the clients of the object stores.
func (s *Storage) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failures []error
	for _, bucket := range s.buckets {
		failures = append(failures, bucket.Close())
	}
	clear(s.buckets)
	return errors.Join(failures...)
}

// Open implements Files.
func (s *Storage) Open(ctx context.Context, file string) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var opened io.ReadCloser
	var err error
	if path, local := uri.Local(file); local {
		opened, err = openLocal(path)
	} else {
		opened, err = s.openObject(ctx, file)
	}
	if err != nil {
		return nil, failed("reading", file, err)
	}
	return &countedReader{ctx: ctx, name: file, opened: opened, counter: s.counter}, nil
}

func (s *Storage) openObject(ctx context.Context, file string) (io.ReadCloser, error) {
	bucket, key, err := s.object(file)
	if err != nil {
		return nil, err
	}
	s.counter.reads.Add(1)
	return bucket.NewReader(ctx, key, readExactly(key))
}

// Stat implements Files.
func (s *Storage) Stat(ctx context.Context, file string) (Info, error) {
	if path, local := uri.Local(file); local {
		info, err := statLocal(path)
		if err != nil {
			return Info{}, failed("looking at", file, err)
		}
		return Info{URI: file, Size: info.Size(), ModTime: info.ModTime()}, nil
	}
	bucket, key, err := s.object(file)
	if err != nil {
		return Info{}, failed("looking at", file, err)
	}
	s.counter.stats.Add(1)
	attributes, err := bucket.Attributes(ctx, key)
	if err != nil {
		return Info{}, failed("looking at", file, err)
	}
	return Info{URI: file, Size: attributes.Size, ModTime: attributes.ModTime}, nil
}

// List implements Files.
func (s *Storage) List(ctx context.Context, directory string) iter.Seq2[Info, error] {
	directory = strings.TrimRight(directory, "/")
	if path, local := uri.Local(directory); local {
		return listLocal(directory, path)
	}
	return func(yield func(Info, error) bool) {
		bucket, key, err := s.object(directory + "/")
		if err != nil {
			yield(Info{}, failed("listing", directory, err))
			return
		}
		for page, err := range s.pages(ctx, bucket, pageOf{prefix: key, delimiter: "/"}) {
			if err != nil {
				yield(Info{}, failed("listing", directory, err))
				return
			}
			for _, object := range page {
				if object.Key == key {
					continue // The marker of the directory itself.
				}
				name := strings.TrimSuffix(strings.TrimPrefix(object.Key, key), "/")
				if !yield(Info{URI: directory + "/" + name, Size: object.Size, ModTime: object.ModTime, IsDir: object.IsDir}, nil) {
					return
				}
			}
		}
	}
}

// object returns the bucket and the key of an object's URI. There is one client
// for every scheme and authority.
func (s *Storage) object(file string) (*blob.Bucket, string, error) {
	scheme, rest, _ := strings.Cut(file, "://")
	authority, key, _ := strings.Cut(rest, "/")
	if authority == "" {
		return nil, "", errors.New("the URI names no bucket")
	}
	root := scheme + "://" + authority + "/"
	s.mu.Lock()
	defer s.mu.Unlock()
	if bucket, ok := s.buckets[root]; ok {
		return bucket, key, nil
	}
	// The key stays out of it: it may have characters that no URL has.
	store, err := icebergio.LoadFS(s.ctx, s.properties, root)
	if err != nil {
		return nil, "", err
	}
	objects, ok := store.(*blobfs.FileIO)
	if !ok {
		return nil, "", fmt.Errorf("%q is not the scheme of an object store", scheme)
	}
	s.buckets[root] = objects.Bucket
	return objects.Bucket, key, nil
}

// failed says what was tried where, and gives the error its kind.
func failed(doing, file string, err error) error {
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		err = fs.ErrNotExist
	case gcerrors.PermissionDenied:
		err = fmt.Errorf("%w: %w", fs.ErrPermission, err)
	default:
		// A listing that is refused has no code of its own.
		var response interface{ HTTPStatusCode() int }
		if errors.As(err, &response) && (response.HTTPStatusCode() == http.StatusForbidden || response.HTTPStatusCode() == http.StatusUnauthorized) {
			err = fmt.Errorf("%w: %w", fs.ErrPermission, err)
		}
	}
	if inPath, ok := errors.AsType[*fs.PathError](err); ok {
		err = inPath.Err
	}
	return fmt.Errorf("%s %s: %w", doing, file, err)
}

// countedReader counts what is read, and ends with its context.
type countedReader struct {
	ctx     context.Context
	name    string
	opened  io.ReadCloser
	counter *Counter
}

func (r *countedReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.opened.Read(p)
	r.counter.bytes.Add(uint64(n))
	if err != nil && !errors.Is(err, io.EOF) {
		err = failed("reading", r.name, err)
	}
	return n, err
}

func (r *countedReader) Close() error { return r.opened.Close() }
