// worker.go - a worker in Go: reads its variables and the cluster's specification, meets the others
// by the job's key-value store and barrier, and ends with the code that its first word names; when
// that is "stay", after it was asked to end and has said so to the store.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

type task struct {
	Rank int
	Host string
}

type specification struct {
	Roles map[string][]task
}

var store = http.Client{Transport: &http.Transport{
	DialContext: func(c context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(c, "unix", os.Getenv("YDL_SOCKET"))
	}}}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(3)
	}
}

// ask is one request to the store; what is not answered with 200 ends the worker.
func ask(method, path, body string) string {
	request, err := http.NewRequest(method, "http://job/v1/"+path, strings.NewReader(body))
	check(err)
	answer, err := store.Do(request)
	check(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	check(err)
	if answer.StatusCode != http.StatusOK {
		check(fmt.Errorf("%s %s: %s", method, path, answer.Status))
	}
	return strings.TrimSpace(string(text))
}

// either is the first of two variables that is set.
func either(first, second string) string {
	if value, there := os.LookupEnv(first); there {
		return value
	}
	return os.Getenv(second)
}

func main() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	if either("DMLC_ROLE", "YDL_ROLE") != "worker" {
		<-asked
		os.Exit(0)
	}
	index, count := either("DMLC_TASK_ID", "YDL_RANK"), either("DMLC_NUM_WORKER", "YDL_WORLD")
	fmt.Printf("GO %s of %s at %s:%s [%s]\n", index, count, os.Getenv("DMLC_PS_ROOT_URI"),
		os.Getenv("DMLC_PS_ROOT_PORT"), os.Args[2])

	var spec specification
	text, err := os.ReadFile(os.Getenv("YDL_SPEC"))
	check(err)
	check(json.Unmarshal(text, &spec))
	ask("PUT", "kv/go/"+index, "of "+index)
	ask("POST", "kv/sum?add="+index, "")
	ask("POST", "barrier/go?count="+count, "")
	var others []string
	for i := range spec.Roles["worker"] {
		others = append(others, ask("GET", "kv/go/"+strconv.Itoa(i), ""))
	}
	fmt.Printf("MET %s, sum %s\n", strings.Join(others, ", "), ask("GET", "kv/sum", ""))

	if os.Args[1] == "stay" {
		ask("POST", "barrier/all?count="+count, "")
		fmt.Println("STAYS", index)
		<-asked
		fmt.Println("ENDS, as number", ask("POST", "kv/ended?add=1", ""))
		os.Exit(0)
	}
	code, err := strconv.Atoi(os.Args[1])
	check(err)
	os.Exit(code)
}
