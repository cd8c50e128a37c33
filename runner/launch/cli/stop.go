package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/result"
)

// ask asks whether the Job is to be stopped. A second interrupt, or no answer, is no.
func (f *follower) ask() bool {
	fmt.Fprintf(f.Err, "\nstop job %s, which saves its state and releases its lock, or only stop watching it? [stop/watch] ", f.job)
	answers := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(f.In).ReadString('\n')
		answers <- line
	}()
	select {
	case <-f.Interrupts:
		fmt.Fprintln(f.Err)
		return false
	case line := <-answers:
		answer := strings.ToLower(strings.TrimSpace(line))
		stop := answer == "s" || answer == "stop"
		if !stop && answer != "" && answer != "w" && answer != "watch" {
			f.say("%q is neither of the two: the job is not stopped", answer)
		}
		f.stopped = f.stopped || stop
		return stop
	}
}

// stopJob has the Job's pods end in their grace period. The Job itself stays, and its result with it; one that has no
// pod yet is deleted.
func (f *follower) stopJob(ctx context.Context) error {
	namespace := f.object.Identity().Namespace
	pods := f.client.CoreV1().Pods(namespace)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + f.job})
	if err != nil {
		return fmt.Errorf("stop job %s: %w", f.job, err)
	}
	if len(list.Items) == 0 {
		err := f.client.BatchV1().Jobs(namespace).Delete(ctx, f.job, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
		if err != nil {
			return fmt.Errorf("stop job %s: %w", f.job, err)
		}
		return Exit{Code: result.ExitRetry, Err: fmt.Errorf("job %s had not started, and is deleted", f.job)}
	}
	for i := range list.Items {
		if err := pods.Delete(ctx, list.Items[i].Name, metav1.DeleteOptions{}); err != nil && !absent.Is(err) {
			return fmt.Errorf("stop job %s: %w", f.job, err)
		}
	}
	f.say("job %s is told to stop", f.job)
	return nil
}

// requestFailed is true for a request that had no answer.
func requestFailed(err error) bool {
	return errors.As(err, new(*url.Error)) || errors.As(err, new(*net.OpError))
}
