package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"strings"
)

// redacted stands for a secret wherever one would be shown.
const redacted = "<secret>"

// Secret is a text that is never shown: not when it is printed, not when it is
// marshalled. Convert it to a string only where it is handed to its user.
type Secret string

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// Format implements fmt.Formatter: no verb shows the secret.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements encoding.TextMarshaler, for YAML, JSON and others.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// secretKey matches the catalog properties whose values are secrets: the names
// that iceberg-go, PyIceberg and the Java catalogs use for credentials.
var secretKey = regexp.MustCompile(`(?i)(secret|passw|credential|token|signature|(^|[._-])(sas|api-?key|account-?key|private-?key|json-?key|key)([._-]|$)|connection-?string|authorization)`)

// secretFamily matches the properties whose names end in one that the user
// chooses: a header, an Azure account, or its host.
var secretFamily = regexp.MustCompile(`(?i)^(header|adls\.sas-token|adls\.connection-string)\.`)

// publicKey matches names that look like secrets and are not: they say where or
// for how long a token is had, not the token.
var publicKey = regexp.MustCompile(`(?i)[._-](uri|url|endpoint|server|expires?[a-z-]*|expiration[a-z-]*|refresh[a-z-]*|provider|type|enabled|scope|file)$`)

// IsSecretProperty reports whether a catalog property of this name holds a
// secret. It errs on the side of yes.
func IsSecretProperty(key string) bool {
	return secretFamily.MatchString(key) || secretKey.MatchString(key) && !publicKey.MatchString(key)
}

// RedactURI removes from a URI what may be secret: the password in its user
// information and the values of its query.
func RedactURI(uri string) string {
	if !strings.ContainsAny(uri, "@?") {
		return uri
	}
	parsed, err := url.Parse(uri)
	if err != nil || parsed.Opaque != "" {
		return redacted // What cannot be parsed cannot be told apart.
	}
	if _, has := parsed.User.Password(); !has && parsed.RawQuery == "" {
		return uri
	}
	// url.UserPassword would escape the angle brackets, so build the text.
	var b strings.Builder
	b.WriteString(parsed.Scheme + "://")
	if parsed.User != nil {
		b.WriteString(parsed.User.Username())
		if _, has := parsed.User.Password(); has {
			b.WriteString(":" + redacted)
		}
		b.WriteString("@")
	}
	b.WriteString(parsed.Host + parsed.EscapedPath())
	if parsed.RawQuery != "" {
		b.WriteString("?" + redacted)
	}
	return b.String()
}

// readSecretFile returns the text of a secret's file without surrounding
// white space. Its errors do not name the file: by mistake the secret itself may
// stand for its path.
func readSecretFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	if inPath, ok := errors.AsType[*fs.PathError](err); ok {
		return "", inPath.Err
	}
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return "", errors.New("the file is empty")
	}
	return secret, nil
}
