package inventory

import (
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// checkedReader reads a file of a report. At the end of what is not the file that
// the manifest means, it returns an error in the place of io.EOF.
type checkedReader struct {
	from io.Reader
	want part
	sum  hash.Hash
	read int64
	// err is what reading failed with, as opposed to what is wrong with the file.
	err error
}

func (r *checkedReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.read += int64(n)
	r.sum.Write(p[:n])
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		r.err = err
	case r.read > r.want.size:
		err = fmt.Errorf("%w: the file is longer than the %d bytes that the manifest says", metadata.ErrCorrupt, r.want.size)
	case err == nil:
	case r.read < r.want.size:
		err = fmt.Errorf("%w: the file ends after %d of %d bytes", metadata.ErrCorrupt, r.read, r.want.size)
	case [16]byte(r.sum.Sum(nil)) != r.want.sum:
		err = fmt.Errorf("%w: the file does not have the checksum that the manifest says", metadata.ErrCorrupt)
	}
	return n, err
}
