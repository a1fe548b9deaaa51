package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"sync/atomic"

	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/fileio"
)

// Client is one configured catalog. It opens the catalog when it is first
// needed, again after a failure, and anew when a secret in a file has changed.
type Client struct {
	config  config.Catalog
	limits  Limits
	counter *fileio.Counter
	open    opener

	// lock is held while the catalog is opened. A channel rather than a mutex:
	// who waits can give up.
	lock    chan struct{}
	current *openCatalog
	ctx     context.Context
	cancel  context.CancelFunc
	secrets atomic.Pointer[[]string]
	// answered is whether the last call was answered.
	answered atomic.Bool
}

type openCatalog struct {
	catalog
	secrets config.Secrets
	cancel  context.CancelFunc
}

// NewClient returns the client of a catalog. It does not connect.
func NewClient(c config.Catalog, limits Limits, counter *fileio.Counter) *Client {
	ctx, cancel := context.WithCancel(context.Background())
	return &Client{
		config: c, limits: limits, counter: counter, open: openers()[c.Type],
		lock: make(chan struct{}, 1), ctx: ctx, cancel: cancel,
	}
}

// Config is the catalog's configuration.
func (c *Client) Config() *config.Catalog { return &c.config }

// Store tells the catalog's storage apart from others': equal paths in clients
// of the same store are the same file.
func (c *Client) Store() string {
	same := c.config
	return fmt.Sprint(same.Name, same.Type, same.URI, same.Warehouse)
}

// Secrets are the secret texts in use, to keep them out of logs.
func (c *Client) Secrets() []string {
	if values := c.secrets.Load(); values != nil {
		return *values
	}
	return nil
}

// Answered reports whether the catalog answered when it was last asked. That it
// has no such table is an answer.
func (c *Client) Answered() bool { return c.answered.Load() }

// isDirectory reports whether the catalog is no service but directories.
func (c *Client) isDirectory() bool {
	return c.config.Type == config.Metadata || c.config.Type == config.Hadoop
}

// note keeps whether a call was answered, and returns its error.
func (c *Client) note(err error) error {
	c.answered.Store(err == nil || errors.Is(err, fs.ErrNotExist))
	return err
}

// Close closes the catalog. Calls that are under way fail.
func (c *Client) Close() error {
	c.cancel()
	c.lock <- struct{}{}
	defer func() { <-c.lock }()
	if c.current == nil {
		return nil
	}
	err := c.current.close()
	c.current = nil
	return err
}

// connected returns the open catalog.
func (c *Client) connected(ctx context.Context) (catalog, error) {
	select {
	case c.lock <- struct{}{}:
		defer func() { <-c.lock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c.ctx.Err() != nil {
		return nil, errors.New("the catalog is closed")
	}
	secrets, err := c.config.ReadSecrets()
	if err != nil {
		return nil, err
	}
	if c.current != nil && reflect.DeepEqual(c.current.secrets, secrets) {
		return c.current.catalog, nil
	}
	values := secrets.Values()
	c.secrets.Store(&values)
	// The catalog's own context outlives the call that happens to open it.
	lifetime, cancel := context.WithCancel(c.ctx)
	opened, err := c.open(ctx, environment{ctx: lifetime, config: &c.config, secrets: clone(secrets), limits: c.limits, counter: c.counter})
	if err != nil {
		cancel()
		return nil, err
	}
	if c.current != nil {
		_ = c.current.close()
		c.current.cancel()
	}
	c.current = &openCatalog{catalog: opened, secrets: secrets, cancel: cancel}
	return opened, nil
}

// clone keeps what a catalog does to its properties from looking like a change.
func clone(s config.Secrets) config.Secrets {
	s.Properties = maps.Clone(s.Properties)
	return s
}

// List returns the catalog's tables that the configuration matches: those that
// it names exactly, whether the catalog has them or not, and those that its
// globs find. Names in no glob's reach cost no listing.
func (c *Client) List(ctx context.Context) ([]Identifier, error) {
	var found []Identifier
	globs := false
	for _, t := range c.config.Tables {
		if t.IsGlob() {
			globs = true
		} else if _, ok := c.config.Match(t.Name); ok {
			found = append(found, ParseIdentifier(t.Name))
		}
	}
	if !globs {
		return found, nil
	}
	connected, err := c.connected(ctx)
	if err != nil {
		return found, c.note(err)
	}
	listed, err := connected.list(ctx, c.config.MayMatchIn)
	if c.note(err) != nil {
		return found, err
	}
	exact := map[Identifier]bool{}
	for _, id := range found {
		exact[id] = true
	}
	for _, id := range listed {
		if _, ok := c.config.Match(id.String()); ok && !exact[id] {
			exact[id] = true
			found = append(found, id)
		}
	}
	return found, nil
}

// Locate finds a table.
func (c *Client) Locate(ctx context.Context, id Identifier) (*Table, error) {
	connected, err := c.connected(ctx)
	if err != nil {
		return nil, c.note(err)
	}
	table, err := connected.locate(ctx, id)
	if c.isDirectory() && ctx.Err() == nil && !errors.Is(err, fs.ErrPermission) {
		// What is wrong with one table's directory says nothing of the others.
		c.answered.Store(true)
		return table, err
	}
	return table, c.note(err)
}
