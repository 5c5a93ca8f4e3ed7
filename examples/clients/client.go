// Uses the server from Go, with the standard library only. Set SLUICE_URL to use a server other than http://localhost:8080.
//
//	sluice serve --config examples/clients/limits.yaml
//	go run examples/clients/client.go
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"
)

var (
	client = http.Client{Timeout: 2 * time.Second}
	server = "http://localhost:8080"
)

// Operation is the body of a call.
type Operation map[string]any

// Decision has the fields of the response that this program uses.
type Decision struct {
	Allowed   bool    `json:"allowed"`
	Taken     float64 `json:"taken"`
	Remaining float64 `json:"remaining"`
	At        float64 `json:"at"`
}

// Call returns the decision and, if it is a denial, the seconds after which a retry can succeed.
func Call(verb string, operation Operation) (decision Decision, retryAfter string, err error) {
	body, err := json.Marshal(operation)
	if err != nil {
		return decision, "", err
	}
	response, err := client.Post(server+"/v1/"+verb, "application/json", bytes.NewReader(body))
	if err != nil {
		return decision, "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return decision, "", fmt.Errorf("%s: %s", verb, response.Status)
	}
	err = json.NewDecoder(response.Body).Decode(&decision)
	return decision, response.Header.Get("Retry-After"), err
}

func main() {
	if url := os.Getenv("SLUICE_URL"); url != "" {
		server = url
	}

	// A denial has status 200, like every other decision.
	for i := 0; i < 3; i++ {
		decision, retryAfter, err := Call("take", Operation{"limit": "api", "key": "alice"})
		if err != nil {
			log.Fatal(err)
		}
		if decision.Allowed {
			fmt.Printf("allowed, %v left\n", decision.Remaining)
		} else {
			fmt.Printf("denied, retry in %s s\n", retryAfter)
		}
	}
	// → allowed, 1 left
	// → allowed, 0 left
	// → denied, retry in 30 s

	// Charge an estimate before the work, and correct it once the actual usage is known.
	charge, _, err := Call("take", Operation{"limit": "tokens", "key": "alice", "cost": 500})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("charged %v, %v left\n", charge.Taken, charge.Remaining)
	// → charged 500, 500 left
	settled, _, err := Call("settle", Operation{
		"limit": "tokens", "key": "alice", "charged": 500, "used": 120, "at": charge.At,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("settled, %v left\n", settled.Remaining)
	// → settled, 880 left
}
