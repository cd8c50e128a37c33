package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf/captf-runner/internal/absent"
	"github.com/captf/captf-runner/runner/event"
)

const component = "captf-launch"

// send sends an event about the object, or about its Job when the object is none of the API server's. what tells two
// events of one reason apart; the name follows from both, so that sending the same one again changes nothing. An event
// that the API server refuses is no reason to stop; one that it could not be asked about is tried again in the next pass.
func (p *pass) send(ctx context.Context, job Run, what string, e event.Event) error {
	about := p.owner(&job)
	if about.UID == "" {
		if job.Name == "" {
			return nil // there is nobody whom it could be about
		}
		about = corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID}
	}
	about.Namespace = p.id.Namespace
	now := metav1.NewTime(p.now())
	sum := sha256.Sum256([]byte(strings.Join([]string{p.id.String(), string(about.UID), string(e.Reason), what}, "\x00")))
	_, err := p.Clients.Events.Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "captf-" + strings.ToLower(string(e.Reason)) + "-" + hex.EncodeToString(sum[:8]), Namespace: p.id.Namespace},
		InvolvedObject: about, Type: e.Type, Reason: string(e.Reason), Message: e.Message,
		Source: corev1.EventSource{Component: component}, ReportingController: component, ReportingInstance: component,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	switch {
	case err == nil || apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), absent.Is(err), apierrors.IsBadRequest(err):
		p.log().Warn("the event could not be sent", "object", p.id.String(), "reason", e.Reason, "error", err)
		return nil
	}
	return fmt.Errorf("send event %s: %w", e.Reason, err)
}
