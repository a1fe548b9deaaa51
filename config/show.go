package config

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// Show returns the configuration as YAML, with every setting and no secret.
func (c *Config) Show() ([]byte, error) {
	shown := *c
	shown.Catalogs = slices.Clone(c.Catalogs)
	for i := range shown.Catalogs {
		catalog := &shown.Catalogs[i]
		catalog.URI = RedactURI(catalog.URI)
		catalog.Warehouse = RedactURI(catalog.Warehouse)
		catalog.Tables = slices.Clone(catalog.Tables)
		for j := range catalog.Tables {
			catalog.Tables[j].Location = RedactURI(catalog.Tables[j].Location)
		}
	}
	return yaml.Marshal(&shown)
}
