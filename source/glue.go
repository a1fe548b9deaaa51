package source

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	icebergglue "github.com/apache/iceberg-go/catalog/glue"
	"github.com/apache/iceberg-go/utils"
	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/glue"
	"github.com/aws/aws-sdk-go-v2/service/glue/types"

	"github.com/iceberg-exporter/iceberg_exporter/fileio"
)

// glueCatalog is the AWS Glue Data Catalog. iceberg-go lists it; where a table's
// metadata is it is asked itself, since iceberg-go would read the metadata at
// every call.
type glueCatalog struct {
	listing *icebergglue.Catalog
	client  *glue.Client
	id      *string
	files   *fileio.Storage
	limits  Limits
}

func openGlue(ctx context.Context, env environment) (catalog, error) {
	properties := env.properties()
	config, err := awsConfig(ctx, properties)
	if err != nil {
		return nil, fmt.Errorf("finding AWS credentials: %w", err)
	}
	listing, err := icebergglue.NewCatalog(icebergglue.WithAwsConfig(config), icebergglue.WithAwsProperties(properties))
	if err != nil {
		return nil, err
	}
	c := &glueCatalog{listing: listing, client: glue.NewFromConfig(config), limits: env.limits}
	if id := properties[icebergglue.CatalogIdKey]; id != "" {
		c.id = &id
	}
	storageConfig := config.Copy()
	storageConfig.BaseEndpoint = nil // That of Glue.
	c.files = fileio.New(utils.WithAwsConfig(env.ctx, &storageConfig), properties, env.counter)
	return c, nil
}

// awsConfig is the environment's AWS configuration, under the properties that
// iceberg-go's glue catalog has for it.
func awsConfig(ctx context.Context, properties map[string]string) (aws.Config, error) {
	var options []func(*awsconfig.LoadOptions) error
	if region := properties[icebergglue.Region]; region != "" {
		options = append(options, awsconfig.WithRegion(region))
	}
	if endpoint := properties[icebergglue.Endpoint]; endpoint != "" {
		options = append(options, awsconfig.WithBaseEndpoint(endpoint))
	}
	if attempts, err := strconv.Atoi(properties[icebergglue.MaxRetries]); err == nil {
		options = append(options, awsconfig.WithRetryMaxAttempts(attempts))
	}
	if key := properties[icebergglue.AccessKeyID]; key != "" {
		options = append(options, awsconfig.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(
			key, properties[icebergglue.SecretAccessKey], properties[icebergglue.SessionToken])))
	}
	return awsconfig.LoadDefaultConfig(ctx, options...)
}

func (c *glueCatalog) list(ctx context.Context, wanted func(string) bool) ([]Identifier, error) {
	databases, err := c.listing.ListNamespaces(ctx, nil)
	if err != nil {
		return nil, err
	}
	var tables []Identifier
	for _, database := range databases {
		name := strings.Join(database, ".")
		if !wanted(name) {
			continue
		}
		for id, err := range c.listing.ListTables(ctx, database) {
			if err != nil {
				return nil, err
			}
			tables = append(tables, Identifier{Namespace: name, Name: id[len(id)-1]})
		}
	}
	return tables, nil
}

func (c *glueCatalog) locate(ctx context.Context, id Identifier) (*Table, error) {
	answer, err := c.client.GetTable(ctx, &glue.GetTableInput{CatalogId: c.id, DatabaseName: &id.Namespace, Name: &id.Name})
	if _, ok := errors.AsType[*types.EntityNotFoundException](err); ok {
		return nil, ErrNoTable
	}
	if err != nil {
		return nil, err
	}
	return locatedByParameters(answer.Table.Parameters, c.files, c.limits)
}

// locatedByParameters is a table of a metastore that keeps the path of the
// metadata file among a table's parameters, as Glue and Hive do.
func locatedByParameters(parameters map[string]string, files *fileio.Storage, limits Limits) (*Table, error) {
	if !strings.EqualFold(parameters["table_type"], "iceberg") || parameters["metadata_location"] == "" {
		return nil, fmt.Errorf("it is not an Iceberg table: %w", ErrNoTable)
	}
	return locatedAt(files, parameters["metadata_location"], limits), nil
}

func (c *glueCatalog) close() error { return errors.Join(c.listing.Close(), c.files.Close()) }
