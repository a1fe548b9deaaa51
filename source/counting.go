package source

import "io"

// countingReader counts what is read, which is the size of a file once it is
// read to its end, as metadata.Parse does.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
