package web

import (
	"math"
	"strconv"
	"time"
)

// timeoutHeader tells how long Prometheus waits for an answer, in seconds.
const timeoutHeader = "X-Prometheus-Scrape-Timeout-Seconds"

// defaultScrapeTimeout is Prometheus' own default, for those who do not tell.
const defaultScrapeTimeout = 10 * time.Second

// scrapeTime is how long a scrape may wait for tables: the timeout without the
// offset, of which at most half goes to the offset.
func scrapeTime(header string, offset time.Duration) time.Duration {
	timeout := defaultScrapeTimeout
	if told, err := strconv.ParseFloat(header, 64); err == nil && told > 0 && told < math.MaxInt32 {
		timeout = time.Duration(told * float64(time.Second))
	}
	return timeout - min(max(offset, 0), timeout/2)
}
