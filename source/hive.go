package source

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hive_metastore"

	"github.com/iceberg-exporter/iceberg_exporter/fileio"
)

// hiveCatalog is a Hive metastore, asked over one connection: calls take turns,
// and one that fails makes the next connect again. It uses the Thrift client
// under iceberg-go's hive catalog, which has no time-outs and never connects
// again. Kerberos and TLS are not supported.
type hiveCatalog struct {
	address string
	files   *fileio.Storage
	limits  Limits

	// turn is held by the call under way.
	turn      chan struct{}
	transport thrift.TTransport
	client    *hive_metastore.ThriftHiveMetastoreClient
}

const (
	defaultHivePort = "9083"
	// hiveTimeout bounds every answer of the metastore: Thrift pays no heed to contexts.
	hiveTimeout = 30 * time.Second
)

func openHive(_ context.Context, env environment) (catalog, error) {
	parsed, err := url.Parse(env.config.URI)
	if err != nil {
		return nil, errors.New("the uri cannot be parsed")
	}
	port := parsed.Port()
	if port == "" {
		port = defaultHivePort
	}
	return &hiveCatalog{
		address: net.JoinHostPort(parsed.Hostname(), port),
		files:   env.storage(), limits: env.limits, turn: make(chan struct{}, 1),
	}, nil
}

// call makes one call to the metastore.
func (c *hiveCatalog) call(ctx context.Context, do func(*hive_metastore.ThriftHiveMetastoreClient) error) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if c.client == nil {
		if err := c.connect(); err != nil {
			return err
		}
	}
	err := do(c.client)
	var answered *hive_metastore.NoSuchObjectException
	if err != nil && !errors.As(err, &answered) {
		c.disconnect()
	}
	return err
}

func (c *hiveCatalog) connect() error {
	config := &thrift.TConfiguration{ConnectTimeout: hiveTimeout, SocketTimeout: hiveTimeout}
	transport := thrift.NewTBufferedTransport(thrift.NewTSocketConf(c.address, config), 4096)
	if err := transport.Open(); err != nil {
		return err
	}
	protocols := thrift.NewTBinaryProtocolFactoryConf(config)
	c.transport = transport
	c.client = hive_metastore.NewThriftHiveMetastoreClientFactory(transport, protocols)
	return nil
}

func (c *hiveCatalog) disconnect() {
	if c.transport != nil {
		_ = c.transport.Close()
	}
	c.transport, c.client = nil, nil
}

func (c *hiveCatalog) list(ctx context.Context, wanted func(string) bool) ([]Identifier, error) {
	var databases []string
	err := c.call(ctx, func(client *hive_metastore.ThriftHiveMetastoreClient) (err error) {
		databases, err = client.GetAllDatabases(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	var tables []Identifier
	for _, database := range databases {
		if !wanted(database) {
			continue
		}
		var names []string
		err := c.call(ctx, func(client *hive_metastore.ThriftHiveMetastoreClient) (err error) {
			names, err = client.GetAllTables(ctx, database)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			parameters, err := c.parameters(ctx, database, name)
			if errors.Is(err, ErrNoTable) {
				continue // Dropped since.
			}
			if err != nil {
				return nil, err
			}
			if strings.EqualFold(parameters["table_type"], "iceberg") {
				tables = append(tables, Identifier{Namespace: database, Name: name})
			}
		}
	}
	return tables, nil
}

func (c *hiveCatalog) parameters(ctx context.Context, database, name string) (map[string]string, error) {
	var parameters map[string]string
	err := c.call(ctx, func(client *hive_metastore.ThriftHiveMetastoreClient) error {
		table, err := client.GetTable(ctx, database, name)
		if err != nil {
			return err
		}
		parameters = table.GetParameters()
		return nil
	})
	if _, ok := errors.AsType[*hive_metastore.NoSuchObjectException](err); ok {
		return nil, ErrNoTable
	}
	return parameters, err
}

func (c *hiveCatalog) locate(ctx context.Context, id Identifier) (*Table, error) {
	parameters, err := c.parameters(ctx, id.Namespace, id.Name)
	if err != nil {
		return nil, err
	}
	return locatedByParameters(parameters, c.files, c.limits)
}

func (c *hiveCatalog) close() error {
	// The client's context has ended, so a call under way ends by its time-out.
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.disconnect()
	return c.files.Close()
}
