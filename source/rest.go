package source

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	icebergcatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/cespare/xxhash/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// restCatalog speaks the Iceberg REST protocol through iceberg-go's client. The
// client's own view of a table is not used: its parser refuses some metadata, and
// it lets the table's properties, which belong to whoever writes the table,
// choose the endpoint that credentials are sent to. The transport keeps the
// catalog's answers instead.
type restCatalog struct {
	client *rest.Catalog
	env    environment
	// answers has the catalog's configuration.
	answers *restTransport

	mu       sync.Mutex
	storages *simplelru.LRU[uint64, *fileio.Storage]
}

// maxStorages bounds the clients kept of object stores: a catalog may hand out
// other credentials for every table.
const maxStorages = 64

// responseTimeout is how long a catalog has to begin an answer.
const responseTimeout = 30 * time.Second

func openREST(ctx context.Context, env environment) (catalog, error) {
	c := &restCatalog{env: env, answers: &restTransport{limit: 2*env.limits.MetadataBytes + 1<<20}}
	c.storages, _ = simplelru.NewLRU(maxStorages, func(_ uint64, s *fileio.Storage) { _ = s.Close() })
	options, err := restOptions(env)
	if err != nil {
		return nil, err
	}
	options = append(options, rest.WithTransportFactory(func(config *tls.Config) (http.RoundTripper, func()) {
		base := http.DefaultTransport.(*http.Transport).Clone()
		base.TLSClientConfig = config
		// The client asks for tokens without a context.
		base.ResponseHeaderTimeout = responseTimeout
		return &restSession{RoundTripper: base, answers: c.answers}, base.CloseIdleConnections
	}))
	if c.client, err = rest.NewCatalog(ctx, env.config.Name, env.config.URI, options...); err != nil {
		return nil, restError(err)
	}
	return c, nil
}

// restOptions hands the configuration to the client. It understands some
// properties only once it has the catalog's configuration, so those that the
// first request needs are given as options too.
func restOptions(env environment) ([]rest.Option, error) {
	properties := maps.Clone(env.properties())
	if properties["snapshot-loading-mode"] == "" {
		// Some catalogs send only the snapshots that references point at.
		properties["snapshot-loading-mode"] = "all"
	}
	options := []rest.Option{rest.WithAdditionalProps(properties)}
	add := func(set bool, option rest.Option) {
		if set {
			options = append(options, option)
		}
	}
	add(env.secrets.Credential != "", rest.WithCredential(env.secrets.Credential))
	add(env.secrets.Token != "", rest.WithOAuthToken(env.secrets.Token))
	add(env.config.Warehouse != "", rest.WithWarehouseLocation(env.config.Warehouse))
	add(properties["scope"] != "", rest.WithScope(properties["scope"]))
	add(properties["audience"] != "", rest.WithAudience(properties["audience"]))
	add(properties["resource"] != "", rest.WithResource(properties["resource"]))
	add(properties["prefix"] != "", rest.WithPrefix(properties["prefix"]))
	add(strings.EqualFold(properties["rest.sigv4-enabled"], "true"),
		rest.WithSigV4RegionSvc(properties["rest.signing-region"], properties["rest.signing-name"]))
	add(strings.EqualFold(properties["rest.tls.skip-verify"], "true"),
		rest.WithTLSConfig(&tls.Config{InsecureSkipVerify: true})) //nolint:gosec // The user asked for it.
	if server := properties["oauth2-server-uri"]; server != "" {
		parsed, err := url.Parse(server)
		if err != nil {
			return nil, errors.New("properties.oauth2-server-uri is no URI")
		}
		options = append(options, rest.WithAuthURI(parsed))
	}
	return options, nil
}

func (c *restCatalog) list(ctx context.Context, wanted func(string) bool) ([]Identifier, error) {
	var tables []Identifier
	children := func(parent []string) ([][]string, error) {
		namespaces, err := c.client.ListNamespaces(ctx, parent)
		return namespaces, restError(err)
	}
	return tables, walkNamespaces(children, func(namespace []string) error {
		name := strings.Join(namespace, ".")
		if !wanted(name) {
			return nil
		}
		for id, err := range c.client.ListTables(ctx, namespace) {
			if err != nil {
				return restError(err)
			}
			tables = append(tables, newIdentifier(namespace, id[len(id)-1]))
		}
		return nil
	})
}

// walkNamespaces visits every namespace once, parents first. children returns
// the namespaces below one; servers have been seen to put that one among them.
func walkNamespaces(children func(parent []string) ([][]string, error), visit func(namespace []string) error) error {
	seen := map[string]bool{"": true}
	queue := [][]string{nil}
	for len(queue) > 0 {
		parent := queue[0]
		queue = queue[1:]
		below, err := children(parent)
		if err != nil {
			return err
		}
		for _, namespace := range below {
			name := strings.Join(namespace, ".")
			if seen[name] {
				continue
			}
			seen[name] = true
			if err := visit(namespace); err != nil {
				return err
			}
			queue = append(queue, namespace)
		}
	}
	return nil
}

// restTable is the answer to loading a table.
type restTable struct {
	MetadataLocation   string            `json:"metadata-location"`
	Metadata           json.RawMessage   `json:"metadata"`
	Config             map[string]string `json:"config"`
	StorageCredentials []struct {
		Prefix string            `json:"prefix"`
		Config map[string]string `json:"config"`
	} `json:"storage-credentials"`
}

func (c *restCatalog) locate(ctx context.Context, id Identifier) (*Table, error) {
	ctx, answer := withAnswer(ctx)
	_, err := c.client.LoadTable(ctx, append(id.levels(), id.Name))
	if answer.body == nil {
		if err == nil {
			err = errors.New("the catalog's answer is missing")
		}
		return nil, restError(err)
	}
	if answer.partial {
		return nil, fmt.Errorf("%w: the catalog insists on sending only the snapshots that branches and tags point at (snapshots=refs)", metadata.ErrUnsupported)
	}
	var loaded restTable
	if err := json.Unmarshal(answer.body, &loaded); err != nil || len(loaded.Metadata) == 0 {
		return nil, fmt.Errorf("%w: the catalog's answer has no table metadata", metadata.ErrCorrupt)
	}
	version := loaded.MetadataLocation
	if version == "" {
		version = fmt.Sprintf("%016x", xxhash.Sum64(loaded.Metadata))
	}
	return &Table{Version: version, read: func(ctx context.Context) (*Metadata, error) { return c.read(ctx, &loaded) }}, nil
}

func (c *restCatalog) read(ctx context.Context, loaded *restTable) (*Metadata, error) {
	table, err := metadata.Parse(bytes.NewReader(loaded.Metadata), c.env.limits.MetadataBytes)
	if err != nil {
		return nil, err
	}
	place := loaded.MetadataLocation
	if place == "" {
		place = table.Location
	}
	storage := c.storageFor(loaded, place)
	m := &Metadata{Table: table, File: loaded.MetadataLocation, Files: fileio.ForTable(storage, place, table.Location)}
	if loaded.MetadataLocation != "" {
		// The client of a REST catalog need not be able to see the file.
		if info, err := storage.Stat(ctx, loaded.MetadataLocation); err == nil {
			m.Bytes = &info.Size
		}
	}
	return m, nil
}

// storageFor gives access to a table's storage: by the properties of the
// configuration, over those of the catalog, under what the catalog hands out
// for the table. Storages are shared by tables with the same properties.
func (c *restCatalog) storageFor(loaded *restTable, place string) *fileio.Storage {
	properties := c.answers.properties(c.env.properties())
	maps.Copy(properties, loaded.Config)
	longest := -1
	for i, credential := range loaded.StorageCredentials {
		if strings.HasPrefix(place, credential.Prefix) && (longest < 0 || len(credential.Prefix) > len(loaded.StorageCredentials[longest].Prefix)) {
			longest = i
		}
	}
	if longest >= 0 {
		maps.Copy(properties, loaded.StorageCredentials[longest].Config)
	}
	digest := xxhash.New()
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		_, _ = digest.WriteString(key + "\x00" + properties[key] + "\x00")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if storage, ok := c.storages.Get(digest.Sum64()); ok {
		return storage
	}
	storage := fileio.New(c.env.ctx, properties, c.env.counter)
	c.storages.Add(digest.Sum64(), storage)
	return storage
}

func (c *restCatalog) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.storages.Purge()
	return c.client.Close()
}

// restError gives an error of the client its kind.
func restError(err error) error {
	switch {
	case errors.Is(err, icebergcatalog.ErrNoSuchTable), errors.Is(err, icebergcatalog.ErrNoSuchNamespace):
		return ErrNoTable
	case errors.Is(err, rest.ErrUnauthorized), errors.Is(err, rest.ErrForbidden), errors.Is(err, rest.ErrAuthorizationExpired), errors.Is(err, rest.ErrOAuthError):
		return fmt.Errorf("%w: %w", fs.ErrPermission, err)
	default:
		return err
	}
}
