package uri

import "strings"

// Place is where a file lies, seen from a directory.
type Place uint8

// Places.
const (
	// Inside is below the directory.
	Inside Place = iota
	// Outside is anywhere else.
	Outside
	// Mistaken is at a path below the directory, but of another scheme or
	// authority. Whether that is the same file cannot be told.
	Mistaken
)

// Location is a directory that files are looked for in.
type Location struct {
	// scheme is empty for a directory of any store.
	scheme, authority, path string
}

// LocationOf returns the directory at a URI. One without a scheme is on a local disk.
func LocationOf(uri string) Location {
	l := RecordedLocation(uri)
	if l.scheme == "" {
		l.scheme = "file"
	}
	return l
}

// RecordedLocation returns the directory that a table was at when its metadata was
// written. One without a scheme was in whatever store its engine used.
func RecordedLocation(uri string) Location {
	return Location{storeScheme(uri), Authority(uri), Path(uri)}
}

// IsRoot reports whether the directory is a whole bucket or disk.
func (l Location) IsRoot() bool { return l.path == "/" || l.path == "." }

// Root returns the directory as a text that starts those of all directories in it.
func (l Location) Root() string {
	return l.scheme + "://" + strings.ToLower(l.authority) + strings.TrimRight(l.path, "/") + "/"
}

// Place returns the path of a file that some metadata names, as Path does, and
// where that is. A scheme or an authority that the name leaves out fits all, the
// case of letters does not count, and s3a and s3n are s3
// (org.apache.iceberg.actions.FileURI).
func (l Location) Place(file string) (path string, place Place) {
	path = Path(file)
	if below, ok := Below(l.path, path); !ok || below == "/" {
		return path, Outside
	}
	if l.scheme == "" {
		return path, Inside
	}
	if scheme := storeScheme(file); scheme != "" && scheme != l.scheme {
		return path, Mistaken
	}
	if authority := Authority(file); authority != "" && !strings.EqualFold(authority, l.authority) {
		return path, Mistaken
	}
	return path, Inside
}

// Authority returns what stands between the slashes and the path of a URI: a
// bucket or a host; "" where there is none.
func Authority(uri string) string {
	rest, ok := strings.CutPrefix(uri[len(Scheme(uri)):], "://")
	if !ok {
		return ""
	}
	authority, _, _ := strings.Cut(rest, "/")
	return authority
}

// storeScheme returns the scheme of a URI, one for those that name one store.
func storeScheme(uri string) string {
	switch scheme := Scheme(uri); scheme {
	case "s3a", "s3n":
		return "s3"
	default:
		return scheme
	}
}
