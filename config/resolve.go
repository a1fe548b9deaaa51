package config

import (
	"errors"
	"fmt"
	"maps"
	"strings"
)

// secretFileSuffix ends the name of a property whose value is the path of a
// file with the secret, and of the settings that are such paths.
const secretFileSuffix = "_file"

// Secrets are a catalog's secrets, read from where the configuration says.
type Secrets struct {
	Credential string
	Token      string
	// Properties are all of the catalog's properties, those from files among them.
	Properties map[string]string
}

// ReadSecrets reads the catalog's secrets from their files. Files are read
// again at each call: short-lived credentials are renewed in place.
func (c *Catalog) ReadSecrets() (Secrets, error) {
	s := Secrets{Credential: string(c.Credential), Token: string(c.Token), Properties: maps.Clone(map[string]string(c.Properties))}
	if s.Properties == nil {
		s.Properties = map[string]string{}
	}
	var failures []error
	read := func(file string, set func(secret string)) {
		if file == "" {
			return
		}
		secret, err := readSecretFile(file)
		if err != nil {
			failures = append(failures, fmt.Errorf("reading the secret in %s: %w", file, err))
			return
		}
		set(secret)
	}
	read(c.CredentialFile, func(secret string) { s.Credential = secret })
	read(c.TokenFile, func(secret string) { s.Token = secret })
	for key, value := range c.Properties {
		if name, isFile := strings.CutSuffix(key, secretFileSuffix); isFile {
			delete(s.Properties, key)
			read(value, func(secret string) { s.Properties[name] = secret })
		}
	}
	return s, errors.Join(failures...)
}

// Values returns every secret text, to keep them out of logs.
func (s Secrets) Values() []string {
	var values []string
	add := func(secret string) {
		// A credential is often id:secret, and either half may be echoed alone.
		for _, part := range append(strings.Split(secret, ":"), secret) {
			if len(part) >= minRedactedLength {
				values = append(values, part)
			}
		}
	}
	add(s.Credential)
	add(s.Token)
	for key, value := range s.Properties {
		if IsSecretProperty(key) {
			add(value)
			add(strings.TrimPrefix(value, "Bearer "))
		}
	}
	return values
}

// minRedactedLength keeps a trivial secret ("a") from blanking out every log line.
const minRedactedLength = 5
